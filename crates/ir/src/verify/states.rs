//! The rules of states: each version has one successor, and nobody reads one whose bytes are overwritten.
//!
//! A loop writes the states that it carries: a turn begins with a version and leaves one that it made of that, by as
//! many writes as it likes.

use crate::entity::{NodeId, ValueId};
use crate::error::BuildError;
use crate::graph::{Graph, Node};
use crate::loops::{LoopInfo, Loops};
use crate::ops::Op;
use crate::state_versions::Succession;
use std::collections::BTreeSet;

/// Every violation of them.
pub(super) fn state_rules(graph: &Graph, loops: &Loops) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut wrong = |(v, reason): (ValueId, &str)| {
        let state = graph.value(v).name.to_string();
        errors.push(BuildError::State { state, reason: reason.to_owned() });
    };
    let mut replaced = BTreeSet::new();
    for (_, node) in graph.nodes() {
        wrong_leaf(graph, node).into_iter().for_each(&mut wrong);
        wrong_write(graph, node).into_iter().for_each(&mut wrong);
        replaced_twice(graph, node, &mut replaced).into_iter().for_each(&mut wrong);
        if let Some(read) = node.op.state_read().and_then(|i| node.input(i)) {
            let is_input = matches!(graph.def(read).op, Op::Input(_));
            if graph.state_of(read).is_none() && !is_input {
                wrong((read, "it is read as a state but is not a version of one"));
            }
        }
    }
    errors.extend(late_readers(graph, loops));
    errors
}

/// What is wrong with a node that declares a state.
fn wrong_leaf(graph: &Graph, node: &Node) -> Vec<(ValueId, &'static str)> {
    let Op::State(state) = &node.op else { return Vec::new() };
    let mut wrong = Vec::new();
    let stored = state.ty.dtype().is_float() || state.ty.dtype().is_int();
    if !stored {
        wrong.push((node.output(), "a state is a float or integer tensor"));
    }
    if let Some(init) = node.input(0)
        && !matches!(graph.def(init).op, Op::Param(_) | Op::Constant(_))
    {
        wrong.push((node.output(), "its initial value must be a param or a constant"));
    }
    if state.given && node.input(0).is_some() {
        wrong.push((
            node.output(),
            "it is given by the caller and has an initial value; it may have one of the two",
        ));
    }
    wrong
}

/// What is wrong with what a node writes.
fn wrong_write(graph: &Graph, node: &Node) -> Option<(ValueId, &'static str)> {
    let previous = node.op.state_operand().and_then(|i| node.input(i))?;
    // A meaning has an input in the place of the state; lowering refuses that in a program.
    let functional = matches!(graph.def(previous).op, Op::Input(_));
    let wrong = graph.state_of(previous).is_none() && !functional;
    wrong.then(|| (node.output(), "it is written through a value that is not a version of a state"))
}

/// Versions that a node replaces and one before it did. `replaced` are those of the nodes before.
fn replaced_twice(
    graph: &Graph,
    node: &Node,
    replaced: &mut BTreeSet<ValueId>,
) -> Vec<(ValueId, &'static str)> {
    let reason = match (node.op.carries(), node.op.loops()) {
        (Some(_), _) => {
            "a loop carries a version that is carried or written already; carry the last one, once"
        }
        (_, Some(_)) => "a turn leaves a version that it has written since; leave the last one, once",
        _ => "two ops write the same version; chain them, so that their order is explicit",
    };
    let states = graph.successions(node).into_iter().map(|s| s.previous);
    let states = states.filter(|&v| graph.state_of(v).is_some());
    states.filter(|&v| !replaced.insert(v)).map(|v| (v, reason)).collect()
}

/// What is wrong with a node of a turn that writes.
pub(super) fn wrong_written(
    graph: &Graph,
    loops: &Loops,
    number: usize,
    node: &Node,
) -> Option<&'static str> {
    let previous = node.op.state_operand().and_then(|i| node.input(i))?;
    let carried = loops.inside(graph.value(previous).def.0) == Some(number);
    (!carried).then_some(
        "a turn writes a state that its loop does not carry: give it to the loop, and leave the next version",
    )
}

/// What is wrong with what a turn leaves in the place of a state.
pub(super) fn wrong_left(graph: &Graph, l: &LoopInfo) -> Option<&'static str> {
    let end = graph.node(l.end);
    let states = l.carried.iter().filter(|(_, v)| graph.is_state_version(**v));
    states.filter_map(|(&place, &begins)| left_wrongly(graph, end.input(place)?, begins)).next()
}

/// What is wrong where a turn that begins with one value leaves the other.
fn left_wrongly(graph: &Graph, left: ValueId, begins: ValueId) -> Option<&'static str> {
    let before = |v: &ValueId| {
        let node = graph.def(*v);
        node.op.state_operand().and_then(|i| node.input(i))
    };
    if std::iter::successors(Some(left), before).any(|v| v == begins) {
        return None;
    }
    Some(match graph.state_of(left) {
        None => "a turn leaves a value in the place of a state: write it with `state_write`",
        of if of == graph.state_of(begins) => {
            "a turn leaves a version of a state that it does not follow on from what it begins with"
        }
        _ => "a turn leaves a version of another state in the place of one",
    })
}

/// A reader of a version that itself depends on a later version could only be served by a copy of the whole state. So
/// could a turn that reads what was there before its loop.
fn late_readers(graph: &Graph, loops: &Loops) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let users = graph.users();
    for (id, writer) in graph.nodes() {
        let own = writer.op.carries().and_then(|_| loops.inside(id));
        let is_late =
            |reader: &NodeId| own.is_some() && loops.inside(*reader) == own || depends(graph, *reader, id);
        let reads = |reader: NodeId, v: ValueId| graph.node(reader).reads().any(|read| read == v);
        for Succession { previous, .. } in graph.successions(writer) {
            let mut later: Vec<NodeId> =
                users[previous.index()].iter().copied().filter(|&u| u > id && reads(u, previous)).collect();
            later.dedup();
            later.retain(is_late);
            errors.extend(later.into_iter().map(|reader| BuildError::State {
                state: graph.value(previous).name.to_string(),
                reason: format!(
                    "{} reads this version but also depends on the next one; read it through state_read before the write",
                    graph.node_name(reader)
                ),
            }));
        }
    }
    errors
}

/// Whether a node depends on an earlier one. Operands come before their users, so only nodes between the two are looked
/// at.
fn depends(graph: &Graph, node: NodeId, earlier: NodeId) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![node]);
    while let Some(next) = open.pop() {
        let defined_by = graph.node(next).operands().map(|v| graph.value(v).def.0);
        for def in defined_by.filter(|&def| def >= earlier) {
            if def == earlier {
                return true;
            }
            if seen.insert(def) {
                open.push(def);
            }
        }
    }
    false
}
