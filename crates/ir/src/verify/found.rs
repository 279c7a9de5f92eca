//! The rules of what a run finds: where a found symbol may be named, that no condition of a graph is about one, and, of
//! texts, that its count was held between its ends by a node that reports others.

use crate::entity::{NodeId, ValueId};
use crate::error::BuildError;
use crate::graph::{Graph, Node};
use crate::infer::normalize_axis;
use crate::loops::Loops;
use crate::ops::Op;
use pumice_types::{DType, SymbolId};
use std::collections::BTreeSet;

/// Operands of operands that are asked for what is the largest value of a count.
const DEPTH: u32 = 4;

/// Every violation of them that a graph may have in any form.
pub(super) fn found_rules(graph: &Graph) -> Vec<BuildError> {
    if graph.symbols.found().next().is_none() {
        return Vec::new();
    }
    let mut wrong = wrong_names(graph);
    let about_found = graph.constraints.iter().filter(|c| c.names_found(&graph.symbols));
    wrong.extend(
        about_found
            .map(|c| BuildError::OnlyFound { what: c.what_and_where(), condition: c.shown(&graph.symbols) }),
    );
    wrong
}

/// A symbol that is found has one node that finds it, before all that name it. Where none does, it may be gone.
fn wrong_names(graph: &Graph) -> Vec<BuildError> {
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    let error = |id: SymbolId, reason: String| {
        let name = graph.symbols.get(id).map_or_else(String::new, |s| s.name.clone());
        BuildError::Symbol { name, reason }
    };
    for (id, node) in graph.nodes() {
        let early = |id: &SymbolId| graph.symbols.is_found(*id) && !known.contains(id);
        if let Some(early) = graph.symbols_named(node).into_iter().find(early) {
            wrong.push(error(early, format!("{} names it before it is found", graph.node_name(id))));
        }
        if let Some(symbol) = node.op.finds().filter(|&symbol| !known.insert(symbol)) {
            wrong.push(error(symbol, "it is found twice".to_owned()));
        }
    }
    wrong
}

/// The first node of a graph as it was built that makes an extent of a count which may be beyond the extent's largest
/// value: the run would take that for the largest and tell nobody. Passes may fuse what holds a count, so this is no
/// rule of what they make.
pub(crate) fn unheld_count(graph: &Graph) -> Option<BuildError> {
    graph.symbols.found().next()?;
    let loops = Loops::of(graph);
    let wrong = |(id, node): (NodeId, &Node)| {
        let symbol = graph.symbols.get(node.op.finds()?)?;
        let largest = largest(graph, &loops, node.input(0)?, DEPTH);
        let reason = match largest {
            Some(largest) if largest <= symbol.max => return None,
            Some(largest) => {
                format!("its count is at most {largest}, and {} at most {}", symbol.name, symbol.max)
            }
            None => format!("nothing holds its count between 0 and {}: `found_count` does", symbol.max),
        };
        Some(BuildError::Count { node: graph.node_name(id).to_owned(), reason })
    };
    graph.nodes().find_map(wrong)
}

/// The largest value of a count that is 0 or more, as far as its node says.
fn largest(graph: &Graph, loops: &Loops, count: ValueId, depth: u32) -> Option<u64> {
    let (id, node) = (graph.value(count).def.0, graph.def(count));
    let depth = depth.checked_sub(1)?;
    let of = |v: ValueId| largest(graph, loops, v, depth);
    let of_operand = |i: usize| of(node.input(i)?);
    match &node.op {
        Op::Constant(c) if c.data.dtype() == DType::I32 => {
            c.data.to_vec::<i32>().ok()?.first().and_then(|&n| u64::try_from(n).ok())
        }
        Op::Cast(_) => (graph.ty(node.input(0)?).dtype() == DType::Bool).then_some(1),
        Op::Extent(e) => {
            let ty = graph.ty(node.input(0)?);
            Some(ty.shape[normalize_axis(e.axis, ty.rank()).ok()?].upper(&graph.symbols))
        }
        op if op.branches().is_some() => Some(of_operand(0)?.max(of_operand(1)?)),
        op if op.carries().is_some() => carried(graph, loops, (id, node), of),
        op if op.is_movement() && node.inputs.len() == 1 => of_operand(0),
        op => u64::try_from(op.holds_count()?).ok(),
    }
}

/// That of what a turn begins with: of what the first one does, and of what every turn leaves.
fn carried(
    graph: &Graph,
    loops: &Loops,
    (id, node): (NodeId, &Node),
    of: impl Fn(ValueId) -> Option<u64>,
) -> Option<u64> {
    let (_, place) = node.op.carries()?;
    let end = graph.node(loops.all.get(loops.inside(id)?)?.end);
    let (first, left) = (node.input(0)?, end.input(place)?);
    // What a turn leaves as it began is what the first one began with.
    let left = if left == node.output() { first } else { left };
    Some(of(first)?.max(of(left)?))
}
