//! Versions of states in a graph: which node follows on which version.
//!
//! A version has one successor at most. Ops that write make the next one of their operand; a loop that carries a state
//! makes one for its turns ([`Carry`](crate::ops::Carry)) and, of what a turn leaves, the one behind the loop
//! ([`Loop`](crate::ops::Loop)).

use crate::ValueId;
use crate::graph::{Graph, Node};
use crate::ops::Op;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A version of a state and the one that a node makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Succession {
    /// The version that is replaced.
    pub previous: ValueId,
    /// The one in its place.
    pub next: ValueId,
}

impl Graph {
    /// The versions of states that a node makes of others, whether it writes them or its loop carries them.
    pub fn successions(&self, node: &Node) -> SmallVec<[Succession; 1]> {
        if let Some(previous) = node.op.state_operand().and_then(|i| node.input(i)) {
            return SmallVec::from_elem(Succession { previous, next: node.output() }, 1);
        }
        if node.op.carries().is_none() && node.op.loops().is_none() {
            return SmallVec::new();
        }
        let carried = node.outputs.iter().enumerate().filter(|(_, v)| self.is_state_version(**v));
        carried.filter_map(|(i, &next)| Some(Succession { previous: node.input(i)?, next })).collect()
    }

    /// Whether a value is a version of a state.
    pub fn is_state_version(&self, value: ValueId) -> bool {
        let op = &self.def(value).op;
        let is_carried =
            || (op.carries().is_some() || op.loops().is_some()) && self.state_of(value).is_some();
        matches!(op, Op::State(_)) || op.state_operand().is_some() || is_carried()
    }

    /// Whether a value is the bytes of a version of a state, possibly under a view: it must be read before they are
    /// overwritten.
    pub fn shows_state(&self, value: ValueId) -> bool {
        self.shown_version(value).is_some()
    }

    /// The version of a state whose bytes a value is, itself or seen through views.
    pub fn shown_version(&self, mut value: ValueId) -> Option<ValueId> {
        while !self.is_state_version(value) {
            let (node, place) = (self.def(value), self.value(value).def.1);
            value = node.op.shown_operand(place.into()).and_then(|i| node.input(i))?;
        }
        Some(value)
    }

    /// The `State` leaf that a value is a version of, if it is one. The result of a loop is one where its turns begin
    /// with one.
    pub fn state_of(&self, value: ValueId) -> Option<ValueId> {
        let mut v = value;
        loop {
            let (id, place) = self.value(v).def;
            let node = self.node(id);
            let from = match node.op.state_operand() {
                _ if matches!(node.op, Op::State(_)) => return Some(v),
                Some(i) => i,
                None if node.op.carries().is_some() => 0,
                None if node.op.loops().is_some() => node.outputs.len() + usize::from(place),
                None => return None,
            };
            v = node.input(from)?;
        }
    }

    /// The last version of each state, in the order of [`Graph::states`].
    pub fn final_states(&self) -> Vec<ValueId> {
        let mut last = self.states();
        let mut number: BTreeMap<ValueId, usize> = last.iter().copied().zip(0..).collect();
        for (_, node) in self.nodes() {
            for Succession { previous, next } in self.successions(node) {
                if let Some(state) = number.remove(&previous) {
                    last[state] = next;
                    number.insert(next, state);
                }
            }
        }
        last
    }
}
