//! What a norm (`LayerNorm`, `RmsNorm`) can add up while it loads, sums being chains of `Add`: the facts that
//! `fuse_residual_norms` and `split_products` share.

use super::Facts;
use super::fuse::is_immediate;
use pumice_ir::infer::normalize_axis;
use pumice_ir::{Graph, NodeId, Op, ValueId};
use pumice_types::{DimExpr, slots};

/// The value that a node normalizes over its last axis, if it is a norm that can take additions in.
pub fn normalized(graph: &Graph, facts: &Facts, id: NodeId) -> Option<ValueId> {
    let node = graph.node(id);
    let axis = match &node.op {
        Op::LayerNorm(op) => op.axis,
        Op::RmsNorm(op) => op.axis,
        _ => return None,
    };
    let sum = node.input(0)?;
    let rank = graph.ty(sum).rank();
    let last = normalize_axis(axis, rank).is_ok_and(|a| a + 1 == rank);
    let scales = node.operands().skip(1).all(|v| v != sum && is_vector(graph, v, sum));
    (last && scales && !facts.is_load_time(id)).then_some(sum)
}

/// Whether a node adds two tensors that the kernel can read, giving the sum's type.
pub fn is_addition(graph: &Graph, facts: &Facts, id: NodeId, sum: ValueId) -> bool {
    let node = graph.node(id);
    matches!(node.op, Op::Add(_))
        && graph.ty(node.output()) == graph.ty(sum)
        && !facts.is_load_time(id)
        && node.operands().all(|v| !facts.shows_state(v) && is_row(graph, v, sum))
}

/// How many addends could stand for `v` in the sum that a norm after it loads; `None` where no norm takes `v` in.
pub fn room(graph: &Graph, facts: &Facts, v: ValueId) -> Option<usize> {
    let ty = graph.ty(v);
    let (mut at, mut others) = (v, 0);
    loop {
        if facts.users(at).iter().any(|&user| normalized(graph, facts, user) == Some(at)) {
            let stored = usize::from(facts.only_user(at).is_none());
            return (slots::NORM + 1).checked_sub(others + stored).filter(|&room| room > 1);
        }
        let user = facts.only_user(at)?;
        if graph.ty(graph.node(user).outputs.first().copied()?) != ty || !is_addition(graph, facts, user, at)
        {
            return None;
        }
        others += 1;
        at = graph.node(user).output();
    }
}

fn is_row(graph: &Graph, v: ValueId, sum: ValueId) -> bool {
    is_immediate(graph, v) || graph.ty(v).shape == graph.ty(sum).shape || is_vector(graph, v, sum)
}

/// Whether a value varies along the last axis of the sum alone.
fn is_vector(graph: &Graph, v: ValueId, sum: ValueId) -> bool {
    let (shape, whole) = (&graph.ty(v).shape, &graph.ty(sum).shape);
    let (Some((n, outer)), Some(width)) = (shape.split_last(), whole.last()) else { return false };
    n == width && outer.iter().all(|d: &DimExpr| d.is(1))
}
