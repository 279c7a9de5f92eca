//! The nodes between the wanted values and the loss, in order, with what composite ops are made of.
//!
//! In: a builder. Out: entries whose operands come before them. What a composite op is made of is added to the graph
//! beside it: the same nodes that take its place when it is decomposed, so that equal ones are found there and only one
//! stays.

use crate::builder::{GraphBuilder, Value};
use crate::entity::{NodeId, ValueId};
use crate::graph::{Graph, Node};
use crate::loops::Loops;
use crate::ops::Differentiation;
use crate::patch::{Patch, PatchRef};
use pumice_types::DType;
use std::collections::BTreeSet;

/// A step of the way from wanted values to the loss.
pub(super) enum Entry {
    /// A node that is passed by itself.
    Node(NodeId),
    /// A value of a composite op, and the value that is the same of what it is made of.
    Same { outer: ValueId, inner: ValueId },
}

/// What is on the way.
pub(super) struct Tape<'t> {
    /// Operands before users.
    pub(super) entries: Vec<Entry>,
    moving: Moving<'t>,
}

/// Float values that move with a wanted one; of what a node is made of, beside those of the way that the node is on.
struct Moving<'t> {
    own: BTreeSet<ValueId>,
    outer: Option<&'t Moving<'t>>,
}

impl Moving<'_> {
    fn with(values: impl IntoIterator<Item = ValueId>) -> Moving<'static> {
        Moving { own: values.into_iter().collect(), outer: None }
    }

    fn contains(&self, value: ValueId) -> bool {
        self.own.contains(&value) || self.outer.is_some_and(|outer| outer.contains(value))
    }
}

/// Whether a value can move: a float, not in blocks.
pub(super) fn moves(graph: &Graph, value: ValueId) -> bool {
    graph.ty(value).encoding.plain().is_some_and(DType::is_float)
}

impl<'t> Tape<'t> {
    /// The way from these values to the loss.
    pub(super) fn record(g: &GraphBuilder, loss: ValueId, wanted: &[ValueId]) -> Tape<'static> {
        let (nodes, loops) = g.look(|graph| (needed(graph, loss), Loops::of(graph)));
        let mut tape = Tape { entries: Vec::new(), moving: Moving::with(wanted.iter().copied()) };
        for id in nodes {
            // What a turn makes has no reader outside of its loop, whose end has no gradient.
            if loops.inside(id).is_some() { tape.enter_whole(g, id) } else { tape.enter(g, id) }
        }
        tape
    }

    /// The way through what a node on another one is made of. It has none of that way's values, whose number would
    /// count once more for each such node.
    pub(super) fn of_expansion(g: &GraphBuilder, outer: &'t Tape<'_>, patch: Patch) -> Tape<'t> {
        let moving = Moving { own: BTreeSet::new(), outer: Some(&outer.moving) };
        let mut tape = Tape { entries: Vec::new(), moving };
        tape.expand(g, patch);
        tape
    }

    /// Which operands of a node move, and its results with them.
    pub(super) fn moving_operands(&self, node: &Node) -> Vec<bool> {
        moving_operands(node, &self.moving).collect()
    }

    /// Enters a node, or what it is made of, if an operand moves.
    fn enter(&mut self, g: &GraphBuilder, id: NodeId) {
        let moving = |graph: &Graph| moving_operands(graph.node(id), &self.moving).any(|moves| moves);
        if !g.look(moving) {
            return;
        }
        match self.made_of(g, id) {
            Some(patch) => self.expand(g, patch),
            None => self.enter_whole(g, id),
        }
    }

    /// Enters a node itself if an operand moves.
    fn enter_whole(&mut self, g: &GraphBuilder, id: NodeId) {
        let floats = g.look(|graph| moving_results(graph, id, &self.moving));
        if !floats.is_empty() {
            self.entries.push(Entry::Node(id));
            self.moving.own.extend(floats);
        }
    }

    /// What stands for a node that is passed as its expansion.
    fn made_of(&self, g: &GraphBuilder, id: NodeId) -> Option<Patch> {
        let how = g.look(|graph| graph.node(id).op.differentiation());
        let packed = || how == Differentiation::Scalar && !g.look(|graph| graph.node(id).op.is_elementwise());
        if how != Differentiation::Expansion && !packed() {
            return None;
        }
        g.look(|graph| graph.node(id).op.composition(graph, id)).filter(|patch| patch.found.is_none())
    }

    /// Enters the nodes of an expansion, and says what they stand for.
    fn expand(&mut self, g: &GraphBuilder, patch: Patch) {
        let replaced = patch.replace.clone();
        let made = add(g, patch);
        for values in &made {
            let first = values.first().and_then(|v| v.valid());
            if let Some(id) = first.map(|v| g.look(|graph| graph.value(v).def.0)) {
                self.enter(g, id);
            }
        }
        for (outer, inner) in replaced {
            let inner = match inner {
                PatchRef::Old(v) => Some(v),
                PatchRef::New(node, at) => made.get(node as usize).and_then(|v| v.get(at as usize)?.valid()),
            };
            let Some(inner) = inner else { continue };
            if self.moving.contains(inner) && outer != inner {
                self.moving.own.insert(outer);
                self.entries.push(Entry::Same { outer, inner });
            }
        }
    }
}

/// Whether each operand of a node moves, and its results with it.
fn moving_operands(node: &Node, moving: &Moving<'_>) -> impl Iterator<Item = bool> {
    let moves =
        |(i, v): (usize, &Option<ValueId>)| v.is_some_and(|v| moving.contains(v)) && node.op.moves_with(i);
    node.inputs.iter().enumerate().map(moves)
}

/// Whether a loss moves with a value, by ops that are not still.
pub(super) fn reaches(graph: &Graph, loss: ValueId, value: ValueId) -> bool {
    let mut moving = Moving::with([value]);
    for id in needed(graph, loss) {
        let node = graph.node(id);
        if moving_operands(node, &moving).any(|moves| moves) {
            let results = moving_results(graph, id, &moving);
            moving.own.extend(results);
        }
    }
    moving.contains(loss)
}

/// The float results of a node with a moving operand that move with it: one that shows an operand moves with it alone,
/// and of an op that is passed as its expansion those move that its moving operands make.
fn moving_results(graph: &Graph, id: NodeId, moving: &Moving<'_>) -> Vec<ValueId> {
    let node = graph.node(id);
    let operands: Vec<bool> = moving_operands(node, moving).collect();
    let follows = |place: usize| {
        let with = |(i, moves): (usize, &bool)| *moves && node.op.result_moves_with(place, i);
        operands.iter().enumerate().any(with)
    };
    let floats = node.outputs.iter().enumerate().filter(|&(place, &v)| moves(graph, v) && follows(place));
    let mut results: Vec<ValueId> = floats.map(|(_, &v)| v).collect();
    if node.op.differentiation() != Differentiation::Expansion || results.len() < 2 {
        return results;
    }
    let Some(patch) = node.op.composition(graph, id) else { return results };
    let mut made: Vec<bool> = Vec::with_capacity(patch.nodes.len());
    for node in &patch.nodes {
        let moves = |(i, r): (usize, &Option<PatchRef>)| {
            r.is_some_and(|r| is_moving(r, moving, &made)) && node.op.moves_with(i)
        };
        let any = node.inputs.iter().enumerate().any(moves);
        made.push(any);
    }
    let stays = |result: &ValueId| {
        let inner = patch.replace.iter().find(|(outer, _)| outer == result);
        inner.is_none_or(|(_, r)| is_moving(*r, moving, &made))
    };
    results.retain(stays);
    results
}

/// Whether an operand in a patch moves, where this is said of the nodes before.
fn is_moving(r: PatchRef, moving: &Moving<'_>, made: &[bool]) -> bool {
    match r {
        PatchRef::Old(v) => moving.contains(v),
        PatchRef::New(node, _) => made.get(node as usize).copied().unwrap_or(true),
    }
}

/// Nodes that a value may move with, in order: what a node only waits for, or is steered by, is not among them.
fn needed(graph: &Graph, value: ValueId) -> Vec<NodeId> {
    let mut needed = BTreeSet::from([graph.value(value).def.0]);
    let mut open: Vec<NodeId> = needed.iter().copied().collect();
    while let Some(id) = open.pop() {
        let node = graph.node(id);
        let with = node.inputs.iter().enumerate().filter(|&(i, _)| node.op.moves_with(i));
        for operand in with.filter_map(|(_, &operand)| operand) {
            let before = graph.value(operand).def.0;
            if needed.insert(before) {
                open.push(before);
            }
        }
    }
    needed.into_iter().collect()
}

/// The values of the nodes of a patch, added to the graph.
fn add(g: &GraphBuilder, patch: Patch) -> Vec<Vec<Value>> {
    let mut made: Vec<Vec<Value>> = Vec::with_capacity(patch.nodes.len());
    for node in patch.nodes {
        let operand = |r: PatchRef| match r {
            PatchRef::Old(v) => Some(g.value_of(v)),
            PatchRef::New(node, output) => made.get(node as usize)?.get(output as usize).copied(),
        };
        let inputs: Vec<Option<Value>> = node.inputs.iter().map(|r| r.and_then(operand)).collect();
        made.push(g.apply_named(node.op, &node.name, &inputs));
    }
    made
}
