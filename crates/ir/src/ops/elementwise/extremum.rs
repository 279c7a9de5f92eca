//! `Max`, `Min` of many operands: max(a, b, c, …) == max(max(a, b, …), c, …), which keeps the order of folding and so
//! which NaN and which zero wins. An elementwise kernel has a limited number of slots.

use crate::ops::def::expansion;
use crate::ops::{GradCx, Grads, NoGrad};
use crate::{Graph, NodeId, Op, Patch, PatchRef};
use pumice_types::DType;

/// Operands of one node at most; slots are left for what is fused with it.
const MOST: usize = 8;

/// A node of many operands as a chain of nodes of at most `MOST`; `None` where it has few.
pub(crate) fn split(graph: &Graph, id: NodeId, op: impl Fn() -> Op) -> Option<Patch> {
    let (node, name) = (graph.node(id), graph.node_name(id));
    let operands: Vec<PatchRef> = node.operands().map(PatchRef::Old).collect();
    if operands.len() <= MOST {
        return None;
    }
    let mut patch = expansion(graph, id);
    let (first, rest) = operands.split_at(MOST);
    let mut y = patch.add(op(), format!("{name}.part"), first);
    for (i, chunk) in rest.chunks(MOST - 1).enumerate() {
        let last = (i + 1) * (MOST - 1) >= rest.len();
        let part = if last { name.to_owned() } else { format!("{name}.part") };
        let inputs: Vec<PatchRef> = std::iter::once(y).chain(chunk.iter().copied()).collect();
        y = patch.add(op(), part, &inputs);
    }
    patch.replace(node.output(), y);
    Some(patch)
}

/// Each of the k operands that are the result gets dy/k.
pub(crate) fn rule<T>(_: &T, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, y, dy) = (cx.g, cx.y(0), cx.dy());
    let dtype = cx.ty(y).dtype();
    let chosen: Vec<_> = (0..cx.len()).map(|i| g.equal(cx.x(i), y)).collect();
    let counts = chosen.iter().map(|&c| g.cast(c, DType::F32));
    let count = counts.reduce(|sum, c| g.add(sum, c)).ok_or(NoGrad::Composed)?;
    let share = g.div(dy, g.cast(count, dtype));
    let zero = g.constant_scalar(dtype, 0.0);
    let part = |i: usize| cx.wanted(i, || cx.unstretched(g.select(chosen[i], share, zero), cx.x(i)));
    Ok((0..cx.len()).map(part).collect())
}
