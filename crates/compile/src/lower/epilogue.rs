//! What the epilogues of kernels take in: one answer for the pass that makes fused nodes and for the lowering of them.
//!
//! In: a group of nodes around an anchor. Out: whether lowering makes one step of it. The values that the epilogue
//! reads besides the anchor's operands, and those it leaves besides its first result, are the kernel's slots.

use pumice_ir::{Graph, Node, NodeId, ValueId};
use pumice_opt::Group;
use pumice_opt::rewrite::cost;
use pumice_opt::rewrite::fuse::{escaping, is_immediate, operands};
use pumice_types::DType;

/// Instructions of an epilogue at most. Bias, exact GELU and residual are 94; rounding to f16 is 40 a node.
const INSTRUCTIONS: usize = 512;

/// The epilogue of an anchor's kernel.
#[derive(Clone, Copy)]
pub struct Epilogue {
    /// What a fused node of it is called.
    pub kind: &'static str,
    /// Operands and further results that its kernel binds.
    pub slots: usize,
    /// Whether the kernel can walk this value over the result.
    pub walks: fn(&Graph, &Node, ValueId) -> bool,
}

/// What a fused node is called whose anchor this node may be.
pub fn name(graph: &Graph, id: NodeId) -> Option<&'static str> {
    super::epilogue_of(graph, id).map(|e| e.kind)
}

/// Whether the epilogue of the group's anchor could hold one node more: an elementwise node of floats over the anchor's
/// result, whose operands the kernel can walk.
pub fn takes(group: &Group<'_>, id: NodeId) -> bool {
    let Group { graph, facts, anchor, .. } = *group;
    let Some(epilogue) = super::epilogue_of(graph, anchor) else { return false };
    let (product, node) = (graph.node(anchor), graph.node(id));
    let Some(&result) = node.outputs.first() else { return false };
    let ty = graph.ty(result);
    let operand = |v: ValueId| {
        let dtype = graph.ty(v).dtype();
        let words = dtype == DType::F32 || !facts.shows_state(v);
        dtype.natural_bytes() < 8 && words && (epilogue.walks)(graph, product, v)
    };
    let fits = node.op.is_elementwise()
        && ty.dtype().is_float()
        && ty.shape == graph.ty(product.output()).shape
        && facts.is_load_time(id) == facts.is_load_time(anchor)
        && node.operands().all(operand);
    let costs = |id: NodeId| cost::instructions(graph, id);
    let before = group.nodes.iter().filter(|&&n| n != anchor).filter_map(|&n| costs(n)).sum::<usize>();
    fits && costs(id).is_some_and(|more| before + more <= INSTRUCTIONS)
}

/// Whether the slots of the anchor's kernel serve a group.
pub fn accepts(group: &Group<'_>) -> bool {
    let Group { graph, facts, anchor, nodes } = *group;
    let Some(epilogue) = super::epilogue_of(graph, anchor) else { return false };
    let of_anchor: Vec<ValueId> = graph.node(anchor).operands().collect();
    // What is written into a body is no operand of the node, and the anchor's kernel reads operands.
    if of_anchor.iter().any(|&v| is_immediate(graph, v)) {
        return false;
    }
    let in_epilogue =
        |v: &ValueId| nodes.iter().any(|&n| n != anchor && graph.node(n).operands().any(|o| o == *v));
    let extra = |v: &ValueId| !of_anchor.contains(v) || in_epilogue(v);
    let reads = operands(graph, nodes).iter().filter(|v| extra(v)).count();
    reads + escaping(graph, facts, nodes).len().saturating_sub(1) <= epilogue.slots
}
