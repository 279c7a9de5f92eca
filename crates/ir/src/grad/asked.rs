//! Optional results: a rule asks the node that it passes for one, and the node has it from then on. No second node is
//! made.
//!
//! A value is numbered where it is made, so that one that is asked for later has a number behind those of later nodes;
//! [`Graph::renumber`] brings all into the order of their nodes when the graph is finished.

use crate::builder::{GraphBuilder, Value};
use crate::entity::{NodeId, ValueId};
use crate::graph::{Graph, ValueInfo};
use crate::infer::infer_types;
use crate::ops::Op;

impl GraphBuilder {
    /// The results of a node as this op, which gives the ones that it has and maybe more. None where it gives others.
    pub(crate) fn ask(&self, node: NodeId, op: Op) -> Option<Vec<Value>> {
        let (types, name, kept) = self.look(|graph| {
            let asked = graph.node(node);
            let (types, _) = infer_types(graph, &op, &asked.inputs).ok()?;
            let kept = asked.outputs.len();
            let same = types.iter().zip(&asked.outputs).all(|(ty, &v)| ty == graph.ty(v));
            (same && types.len() >= kept).then(|| (types, graph.node_name(node).to_owned(), kept))
        })?;
        let more = types.into_iter().enumerate().skip(kept);
        let more = more.map(|(place, ty)| (ty, format!("{name}.{place}"))).collect();
        Some(self.become_op(node, op, more))
    }
}

impl Graph {
    /// Gives a node one more result.
    pub(crate) fn push_result(&mut self, node: NodeId, value: ValueInfo) -> ValueId {
        let id = ValueId::new(self.values.len());
        self.values.push(value);
        self.nodes[node.index()].outputs.push(id);
        id
    }

    /// Numbers values in the order of their nodes.
    pub(crate) fn renumber(&mut self) {
        let order: Vec<ValueId> = self.nodes.iter().flat_map(|node| node.outputs.iter().copied()).collect();
        if order.is_sorted() {
            return;
        }
        let mut number = vec![ValueId::new(0); order.len()];
        order.iter().enumerate().for_each(|(i, v)| number[v.index()] = ValueId::new(i));
        self.values = order.iter().map(|v| self.values[v.index()].clone()).collect();
        for node in &mut self.nodes {
            let inputs = node.inputs.iter_mut().flatten();
            inputs.chain(&mut node.outputs).for_each(|v| *v = number[v.index()]);
        }
        self.outputs.iter_mut().for_each(|output| output.value = number[output.value.index()]);
        self.feeds.iter_mut().for_each(|feed| feed.state = number[feed.state.index()]);
    }
}
