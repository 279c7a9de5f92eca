//! The rules of loops: what their turns carry, and what may stand in them.

use super::states;
use crate::error::BuildError;
use crate::graph::{Graph, Node};
use crate::loops::{LoopInfo, Loops};
use crate::ops::OpKind;
use crate::{Demand, NodeId};
use pumice_types::limits::{MOST_CHOICES, MOST_COUNTS};
use pumice_types::{DimExpr, SymbolId, When};
use std::collections::BTreeSet;

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
    let named = graph.symbols_named(node);
    let foreign = other || named.iter().any(|s| loops.finding(*s).is_some_and(|l| l != number));
    if other && (node.op.carries().is_some() || id == end) {
        return Some("a loop in another loop: unroll one of them (`GraphBuilder::unroll`), or take it out");
    }
    if node.op.kind() == OpKind::Host && node.op.expand(graph, id).is_none() {
        return Some("the host runs it, and takes no part in the turns of a loop: take it out");
    }
    let is_output = id != end && node.outputs.iter().any(|&v| graph.is_output(v));
    if id > end || foreign || is_output {
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

/// Few choices stand in one another, data decide few of them, and little that a run finds decides how much one node
/// has to do: kernels take so many counts. The first node that breaks it.
pub(super) fn nesting_rule(graph: &Graph, loops: &Loops) -> Option<BuildError> {
    let demand = Demand::of(graph);
    let wrong = |(id, node): (NodeId, &Node)| {
        let reason = too_deep(graph, loops, &demand.when(id)).or_else(|| {
            (of_too_many(graph, loops, &demand.when(id), node)).filter(|_| counts(graph, id, node))
        })?;
        Some(BuildError::Loop { node: graph.node_name(id).to_owned(), reason })
    };
    graph.nodes().find_map(wrong)
}

/// Choices that a step asks for: whether a turn is there that is counted before the run, none does.
fn asked<'w>(loops: &Loops, when: &'w When) -> impl Iterator<Item = &'w DimExpr> {
    let is_counted = |e: &DimExpr| loops.all.iter().any(|l| l.turns.is_some() && l.running == *e);
    when.branches().iter().map(|b| &b.taken).filter(move |taken| !is_counted(taken))
}

/// What is wrong with the choices that a node stands under.
fn too_deep(graph: &Graph, loops: &Loops, when: &When) -> Option<String> {
    let all = asked(loops, when).count();
    let by_data = asked(loops, when).filter(|taken| graph.symbols.names_found(taken)).count();
    let (count, what, most) = match () {
        () if by_data > MOST_COUNTS => (by_data, "branches and loops that data decide", MOST_COUNTS),
        () if all > MOST_CHOICES => (all, "branches and loops", MOST_CHOICES),
        () => return None,
    };
    Some(format!("{count} {what} stand in one another here, at most {most} may"))
}

/// What is wrong with all that a node's work follows from: extents that are found, and choices of data.
fn of_too_many(graph: &Graph, loops: &Loops, when: &When, node: &Node) -> Option<String> {
    graph.symbols.found().next()?;
    let mut named = graph.symbols_named(node);
    asked(loops, when).for_each(|taken| taken.visit_vars(|v| named.extend(v.symbol())));
    let found: BTreeSet<SymbolId> = named.into_iter().filter(|id| graph.symbols.is_found(*id)).collect();
    (found.len() > MOST_COUNTS).then(|| {
        let names: Vec<&str> = found.iter().filter_map(|&id| Some(&*graph.symbols.get(id)?.name)).collect();
        let names = names.join(", ");
        format!(
            "it follows from {} counts that the run finds ({names}), at most {MOST_COUNTS} may",
            found.len()
        )
    })
}

/// Whether a kernel counts what a node has to do: not where the host runs it, nor where it is a view of its operand.
fn counts(graph: &Graph, id: NodeId, node: &Node) -> bool {
    let is_host = node.op.kind() == OpKind::Host && node.op.expand(graph, id).is_none();
    !is_host && !node.op.is_movement()
}
