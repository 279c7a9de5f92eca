//! The rules of loops: what their turns carry, and what may stand in them.

use super::states;
use crate::error::BuildError;
use crate::graph::{Graph, Node};
use crate::loops::{LoopInfo, Loops};
use crate::ops::OpKind;
use crate::{Demand, NodeId};
use pumice_types::{Branch, DimExpr};

/// What a turn makes leaves the loop as a result alone; loops write the states that they carry and hold no other loop.
pub(super) fn loop_rules(graph: &Graph, loops: &Loops) -> Vec<BuildError> {
    let of_no_loop = |(id, node): (NodeId, &Node)| node.op.carries().is_some() && loops.inside(id).is_none();
    let stray =
        graph.nodes().filter(|n| of_no_loop(*n)).map(|(id, _)| (id, "what it carries belongs to no loop"));
    let of_loops = loops.all.iter().enumerate().flat_map(|(number, _)| wrong_in_loop(graph, loops, number));
    let naming = graph.nodes().filter(|n| !loops.is_empty() && names_a_turn(loops, *n));
    let naming = naming.map(|(id, _)| (id, "it names what says whether a loop runs"));
    let error = |(id, reason): (NodeId, &str)| BuildError::Loop {
        node: graph.node_name(id).to_owned(),
        reason: reason.to_owned(),
    };
    stray.chain(of_loops).chain(naming).map(error).collect()
}

/// What is wrong with a loop: with its end, then with the nodes of a turn.
fn wrong_in_loop(graph: &Graph, loops: &Loops, number: usize) -> Vec<(NodeId, &'static str)> {
    let l = &loops.all[number];
    let end = wrong_end(graph, l).or_else(|| states::wrong_left(graph, l));
    let of_turn = |id: &NodeId| Some((*id, wrong_in_turn(graph, loops, number, *id)?));
    end.map(|why| (l.end, why))
        .into_iter()
        .chain(l.nodes.iter().chain([&l.end]).filter_map(of_turn))
        .collect()
}

/// What is wrong with the end of a loop.
fn wrong_end(graph: &Graph, l: &LoopInfo) -> Option<&'static str> {
    let (end, carried) = (graph.node(l.end), l.carried.len());
    let begins = end.operands().skip(carried).eq(l.carried.values().copied());
    if !begins || end.inputs.len() != 2 * carried || !l.carried.keys().copied().eq(0..carried) {
        return Some("what its turns begin with is not what it carries");
    }
    if l.turns.is_some() && end.input(0) != l.carried.get(&0).copied() {
        return Some("its turns are counted, and yet something says whether there is another one");
    }
    let finds = |id: &NodeId| graph.node(*id).op.finds() == l.running.as_symbol();
    (!l.nodes.iter().any(finds)).then_some("no node of it finds whether it runs")
}

/// What is wrong with a node of a turn, or with the end of its loop.
fn wrong_in_turn(graph: &Graph, loops: &Loops, number: usize, id: NodeId) -> Option<&'static str> {
    const OUTSIDE: &str = "what a turn makes is used outside of its loop; carry it out as a result";
    let (node, end) = (graph.node(id), loops.all[number].end);
    let of = || node.operands().filter_map(|v| loops.inside(graph.value(v).def.0));
    if node.op.carries().is_some() && of().any(|l| l == number) {
        return Some("its turns begin with what a turn makes");
    }
    let other = of().any(|l| l != number);
    if other && (node.op.carries().is_some() || id == end) {
        return Some("a loop in another loop: unroll one of them (`GraphBuilder::unroll`), or take it out");
    }
    if node.op.kind() == OpKind::Host && node.op.expand(graph, id).is_none() {
        return Some("the host runs it, and takes no part in the turns of a loop: take it out");
    }
    let is_output = id != end && node.outputs.iter().any(|&v| graph.is_output(v));
    if id > end || other || is_output {
        return Some(OUTSIDE);
    }
    states::wrong_written(graph, loops, number, node)
}

/// Whether a node that ends no loop and finds nothing names the symbol of one.
fn names_a_turn(loops: &Loops, (_, node): (NodeId, &Node)) -> bool {
    let mut names = false;
    if node.op.loops().is_none() && node.op.finds().is_none() {
        let is_running = |symbol| loops.all.iter().any(|l| l.running.as_symbol() == Some(symbol));
        node.op.visit_symbols(&mut |symbol| names |= is_running(symbol));
    }
    names
}

/// Branches and loops by data that stand in one another at most: a step's grid follows from all of them, and kernels
/// take so many counts.
const MOST_NESTED: usize = 4;

/// Data decide few branches and loops that stand in one another; the first node that is too deep.
pub(super) fn nesting_rule(graph: &Graph, loops: &Loops) -> Option<BuildError> {
    graph.symbols.found().next()?;
    let demand = Demand::of(graph);
    let is_counted = |e: &DimExpr| loops.all.iter().any(|l| l.turns.is_some() && l.running == *e);
    let by_data = |b: &&Branch| graph.symbols.names_found(&b.taken) && !is_counted(&b.taken);
    let depth = |id: NodeId| demand.when(id).branches().iter().filter(by_data).count();
    let (deep, _) = graph.nodes().find(|(id, _)| depth(*id) > MOST_NESTED)?;
    Some(BuildError::Loop {
        node: graph.node_name(deep).to_owned(),
        reason: format!(
            "{} branches and loops that data decide stand in one another here, at most {MOST_NESTED} may",
            depth(deep)
        ),
    })
}
