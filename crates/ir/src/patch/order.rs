//! The order of a patched graph: nodes that are needed, operands first, otherwise as they stood.

use super::PatchError;
use super::patched::Patched;
use crate::graph::Graph;

impl Patched<'_> {
    /// Nodes that are needed, operands first, otherwise as they stood.
    pub(super) fn order(&self, graph: &Graph) -> Result<Vec<usize>, PatchError> {
        let live = self.live(graph);
        let mut by_position: Vec<usize> = (0..self.nodes.len()).filter(|&i| live[i]).collect();
        by_position.sort_by_key(|&i| (self.nodes[i].position, i));
        let mut order = Order {
            patched: self,
            marks: vec![Mark::New; self.nodes.len()],
            next_leaf: 0,
            nodes: Vec::with_capacity(by_position.len()),
            stack: Vec::new(),
        };
        for root in by_position {
            order.visit(root).map_err(|node| PatchError::Cycle {
                labels: self.patches.iter().map(|p| p.label.clone()).collect(),
                node: self.name(graph, node).to_owned(),
            })?;
        }
        Ok(order.nodes)
    }

    /// Whether each node is needed by the leaves of the interface, by outputs or by final states.
    pub(super) fn live(&self, graph: &Graph) -> Vec<bool> {
        let mut wanted: Vec<usize> =
            (0..self.nodes.len()).filter(|&i| self.nodes[i].is_interface()).collect();
        wanted.extend(graph.outputs.iter().map(|o| self.target_of(graph, o.value).node()));
        wanted.extend(graph.final_states().into_iter().map(|v| self.target_of(graph, v).node()));
        let mut live = vec![false; self.nodes.len()];
        while let Some(i) = wanted.pop() {
            if !std::mem::replace(&mut live[i], true) {
                wanted.extend(self.nodes_before(i));
            }
        }
        live
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Depth-first, so that a node comes as soon after its operands as the old order allows. Iterative: graphs are deep.
struct Order<'d, 'p> {
    patched: &'d Patched<'p>,
    marks: Vec<Mark>,
    /// Leaves of the interface before this node are in the order.
    next_leaf: usize,
    nodes: Vec<usize>,
    stack: Vec<usize>,
}

impl Order<'_, '_> {
    /// Adds a node after what it needs; the error is a node on a circle.
    fn visit(&mut self, root: usize) -> Result<(), usize> {
        self.stack.push(root);
        while let Some(&i) = self.stack.last() {
            match self.marks[i] {
                Mark::New => self.open(i)?,
                Mark::Open => {
                    self.stack.pop();
                    self.close(i);
                }
                Mark::Done => {
                    self.stack.pop();
                }
            }
        }
        Ok(())
    }

    /// What the node needs comes before it.
    fn open(&mut self, i: usize) -> Result<(), usize> {
        self.marks[i] = Mark::Open;
        for j in self.patched.nodes_before(i) {
            match self.marks[j] {
                Mark::New => self.stack.push(j),
                Mark::Open => return Err(j),
                Mark::Done => {}
            }
        }
        Ok(())
    }

    /// The leaves of the interface keep their order, by which scalars are numbered in extents, and params, inputs and
    /// states in a plan: where one comes earlier than it did, those before it do too.
    fn close(&mut self, i: usize) {
        let patched = self.patched;
        if patched.nodes[i].is_interface() {
            for leaf in (self.next_leaf..i).filter(|&leaf| patched.nodes[leaf].is_interface()) {
                // A state begins as a constant, which is no leaf of the interface.
                for node in patched.nodes_before(leaf).chain([leaf]) {
                    if self.marks[node] != Mark::Done {
                        self.push(node);
                    }
                }
            }
            self.next_leaf = self.next_leaf.max(i + 1);
        }
        self.push(i);
    }

    fn push(&mut self, node: usize) {
        self.marks[node] = Mark::Done;
        self.nodes.push(node);
    }
}
