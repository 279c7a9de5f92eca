//! Graphs that are made of a finished graph by what they are for: fewer outputs, params that runs write, inputs of
//! several runs, a narrower range of a symbol, inference.
//!
//! In: a graph. Out: another one of the same names and, but for one that is narrowed, symbols. Never here:
//! what an op does in inference, which its file says ([`OpDef::for_inference`](crate::OpDef::for_inference)).

mod given;
mod inference;
mod outputs;
mod rows;
mod symbol;

use crate::entity::{NodeId, ValueId};
use crate::graph::{Graph, Node, Output};
use crate::names::Names;
use crate::ops::Op;
use crate::shape::ValueType;
use crate::state::Feed;
use std::sync::Arc;

/// A copy of a graph in the making: nodes come in their order, some not at all, some as others.
struct Copy<'g> {
    old: &'g Graph,
    new: Graph,
    names: Names,
    /// By value of the old graph, what it is in the new one.
    place: Vec<Option<ValueId>>,
}

impl<'g> Copy<'g> {
    fn of(old: &'g Graph) -> Copy<'g> {
        let mut new = Graph::empty(old.name.clone(), old.symbols.clone());
        new.constraints.clone_from(&old.constraints);
        new.sites = old.sites.clone();
        let names = old.values.iter().map(|value| Arc::clone(&value.name)).collect();
        Copy { old, new, names, place: vec![None; old.value_count()] }
    }

    /// A node as it is, with this op.
    fn node(&mut self, id: NodeId, op: Op) {
        let old = self.old;
        let Node { inputs, outputs, .. } = old.node(id);
        let inputs = inputs.iter().map(|v| v.and_then(|v| self.place[v.index()])).collect();
        let results = outputs.iter().map(|&v| (old.ty(v).clone(), Arc::clone(&old.value(v).name)));
        let made = self.new.push_node(op, inputs, results);
        for (&was, is) in outputs.iter().zip(made) {
            self.place[was.index()] = Some(is);
        }
    }

    /// A leaf of exactly that name.
    fn leaf(&mut self, op: impl Into<Op>, ty: ValueType, name: &str) -> ValueId {
        self.new.push_node(op.into(), [].into_iter().collect(), [(ty, Arc::from(name))])[0]
    }

    /// A node of one result that the old graph does not have, under that name or, where it is taken, with a number.
    fn add(&mut self, op: impl Into<Op>, inputs: &[ValueId], ty: ValueType, name: String) -> ValueId {
        let name = self.names.unique(name.into());
        let inputs = inputs.iter().map(|&v| Some(v)).collect();
        self.new.push_node(op.into(), inputs, [(ty, name)])[0]
    }

    /// The copy, with the outputs of these numbers and the feeds of these.
    fn finish(self, outputs: &[usize]) -> Graph {
        let Copy { old, mut new, place, .. } = self;
        let at = |v: ValueId| place[v.index()];
        let number = |was: usize| outputs.iter().position(|&i| i == was);
        let kept = outputs.iter().filter_map(|&i| old.outputs.get(i));
        new.outputs =
            kept.filter_map(|o| Some(Output { name: o.name.clone(), value: at(o.value)? })).collect();
        new.feeds = old
            .feeds
            .iter()
            .filter_map(|f| Some(Feed { output: number(f.output)?, state: at(f.state)?, ..f.clone() }))
            .collect();
        new.stop = old.stop.and_then(number);
        new.shrink();
        new
    }
}
