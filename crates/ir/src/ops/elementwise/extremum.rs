//! `Max`, `Min` of many operands: max(a, b, c, …) == max(max(a, b, …), c, …), which keeps the order of folding and so
//! which NaN and which zero wins. An elementwise kernel has a limited number of slots.

use crate::ops::def::expansion;
use crate::{Graph, NodeId, Op, Patch, PatchRef};

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
