//! When a node is computed: always, or where some branches are taken.
//!
//! In: a graph. Out: for each node the [`When`] of its steps. A node is needed where a node that needs it is computed;
//! what the `then` of an [`If`](crate::ops::If) needs is needed where that is taken, and so for `otherwise`. Outputs,
//! states, and what writes states outside of loops are needed always. So branches are no marks that a pass could lose:
//! they follow from who reads what, as dead code does.
//!
//! What a turn of a [`Loop`](crate::ops::Loop) needs and makes is computed while it runs, what is the same in every
//! turn once, before.
//!
//! A node that stands before the one that finds a choice is computed whatever that is: it may not wait for it.

use crate::graph::{Graph, Node};
use crate::loops::Loops;
use crate::{NodeId, ValueId};
use pumice_types::{Branch, DimExpr, SymbolId, When};
use std::collections::BTreeMap;

/// When each node of a graph is computed.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// By node; empty where all are computed always.
    of: Vec<When>,
}

impl Demand {
    /// Of every node of a graph.
    pub fn of(graph: &Graph) -> Demand {
        let plain = |node: &Node| node.op.branches().is_none() && node.op.loops().is_none();
        if graph.nodes().all(|(_, node)| plain(node)) {
            return Demand::default();
        }
        let (of, finders, loops) = (vec![None; graph.nodes().len()], graph.finders(), Loops::of(graph));
        let mut needs = Needs { graph, of, finders, loops };
        let ends = graph.outputs().iter().map(|o| o.value).chain(graph.final_states());
        ends.for_each(|v| needs.value(v, &When::ALWAYS));
        for (id, node) in graph.nodes().rev() {
            needs.node(id, node);
        }
        Demand { of: needs.of.into_iter().map(Option::unwrap_or_default).collect() }
    }

    /// When this node is computed.
    pub fn when(&self, id: NodeId) -> When {
        self.of.get(id.index()).cloned().unwrap_or_default()
    }

    /// Whether two nodes are computed together.
    pub fn is_same(&self, a: NodeId, b: NodeId) -> bool {
        self.of.get(a.index()) == self.of.get(b.index())
    }
}

struct Needs<'g> {
    graph: &'g Graph,
    /// By node; none where nothing needs it so far.
    of: Vec<Option<When>>,
    finders: BTreeMap<SymbolId, NodeId>,
    loops: Loops,
}

impl Needs<'_> {
    /// What a node needs. All that need the node itself have been seen.
    fn node(&mut self, id: NodeId, node: &Node) {
        // What a turn writes is what the end of its loop needs.
        let writes = node.op.state_operand().is_some() && self.loops.inside(id).is_none();
        let is_end = writes || node.op.is_leaf();
        let when = self.of[id.index()].take().unwrap_or_else(|| self.of_nobody(id));
        let when = if is_end { When::ALWAYS } else { when };
        let when = self.known_before(id, when);
        self.symbols(node, &when);
        match node.op.branches() {
            Some(taken) => {
                for (i, v) in node.operands().enumerate() {
                    self.value(v, &when.and(Branch { taken: taken.clone(), otherwise: i > 0 }));
                }
            }
            None => {
                let turns = node.op.loops().map(|l| Branch { taken: l.running.clone(), otherwise: false });
                let inside = turns.map_or_else(|| when.clone(), |turns| when.and(turns));
                node.operands().for_each(|v| self.value(v, &inside));
            }
        }
        self.of[id.index()] = Some(when);
    }

    /// When a node is computed that nobody needs: in a loop that is, by its turns.
    fn of_nobody(&self, id: NodeId) -> When {
        let Some(l) = self.loops.inside(id).map(|l| &self.loops.all[l]) else { return When::ALWAYS };
        let of_end = self.of[l.end.index()].clone().unwrap_or_default();
        of_end.and(Branch { taken: l.running.clone(), otherwise: false })
    }

    /// The outer branches whose choices are found before the node, and before all of the loop that it ends. Whether a
    /// turn is there follows from what it begins with alone.
    fn known_before(&self, id: NodeId, when: When) -> When {
        let of_loop = self.loops.ended_by(id).and_then(|l| self.loops.all[l].nodes.first());
        let first = of_loop.copied().unwrap_or(id);
        let branches = when.branches();
        let known =
            branches.iter().take_while(|b| self.is_turn(&b.taken) || self.is_early(&b.taken, first)).count();
        if known == branches.len() { when } else { When::all(branches[..known].to_vec()) }
    }

    /// Whether a choice is whether a loop runs.
    fn is_turn(&self, choice: &DimExpr) -> bool {
        self.loops.all.iter().any(|l| l.running == *choice)
    }

    /// Whether all that a choice follows from is found before a node.
    fn is_early(&self, choice: &DimExpr, node: NodeId) -> bool {
        let late = |symbol: SymbolId| self.finders.get(&symbol).is_some_and(|finder| *finder >= node);
        choice.find_var(|v| v.symbol().is_some_and(late)).is_none()
    }

    /// The extents that the node names are found wherever it is computed.
    fn symbols(&mut self, node: &Node, when: &When) {
        if self.finders.is_empty() || node.op.finds().is_some() {
            return;
        }
        for symbol in self.graph.symbols_named(node) {
            if let Some(finder) = self.finders.get(&symbol).copied() {
                self.needed(finder, when);
            }
        }
    }

    /// The branches without those that are chosen in turns of loops that the node is not in, and what is inside of
    /// them. What a turn begins with is made before.
    fn outside(&self, id: NodeId, when: &When) -> When {
        let own = self.loops.inside(id).filter(|_| self.graph.node(id).op.carries().is_none());
        let own = own.map(|l| &self.loops.all[l].running);
        let of_other = |branch: &Branch| Some(&branch.taken) != own && self.is_turn(&branch.taken);
        match when.branches().iter().position(of_other) {
            Some(at) => When::all(when.branches()[..at].to_vec()),
            None => when.clone(),
        }
    }

    fn value(&mut self, value: ValueId, when: &When) {
        self.needed(self.graph.value(value).def.0, when);
    }

    fn needed(&mut self, node: NodeId, when: &When) {
        let when = &self.outside(node, when);
        let of = &mut self.of[node.index()];
        *of = Some(of.as_ref().map_or_else(|| when.clone(), |so_far| so_far.common(when)));
    }
}
