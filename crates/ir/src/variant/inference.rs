//! A graph of training as one of inference.

use crate::graph::{Graph, Node};
use crate::patch::{Patch, PatchError, PatchRef};

impl Graph {
    /// The graph as it computes in inference: what drops elements or uses the statistics of its batch in training does
    /// neither, as its op says, and states that would be written with what they hold are not written. Types stay.
    ///
    /// ```
    /// use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.dropout_training(g.input("x", f32([8])), 0.5).0);
    /// let graph = g.build()?.for_inference()?.with_outputs(&["y"]);
    /// assert!(graph.scalars().is_empty(), "nothing is drawn any more");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A defect of an op's own form of inference.
    pub fn for_inference(&self) -> Result<Graph, PatchError> {
        let patches: Vec<Patch> =
            self.nodes().filter_map(|(id, node)| node.op.for_inference(self, id)).collect();
        let graph = self.apply(&patches)?;
        let idle: Vec<Patch> = graph.nodes().filter_map(|(_, node)| unwritten(&graph, node)).collect();
        graph.applied(&idle)
    }

    /// The graph that writes no state as a whole: whoever reads what was written reads what was there before.
    ///
    /// # Errors
    /// A graph against the rules.
    pub fn without_state_writes(&self) -> Result<Graph, PatchError> {
        let writes = self.nodes().filter_map(|(_, node)| {
            node.op.whole_state()?;
            Some(skipped(self, node, node.op.state_operand()?))
        });
        self.apply(&writes.flatten().collect::<Vec<_>>())
    }
}

/// For a node that writes a state with what it holds, the patch without it.
fn unwritten(graph: &Graph, node: &Node) -> Option<Patch> {
    let (state, whole) = (node.op.state_operand()?, node.op.whole_state()?);
    let read = graph.def(node.input(whole)?);
    let same = read.op.state_read().and_then(|i| read.input(i)) == node.input(state);
    if same { skipped(graph, node, state) } else { None }
}

/// The patch in which a version takes the place of the next one.
fn skipped(graph: &Graph, node: &Node, state: usize) -> Option<Patch> {
    let mut patch = Patch::new(format!("leave {} as it is", graph.value(node.output()).name));
    patch.replace(node.output(), PatchRef::Old(node.input(state)?));
    Some(patch)
}
