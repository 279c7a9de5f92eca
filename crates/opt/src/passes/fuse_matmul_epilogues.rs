//! A product and the elementwise nodes after it become one node of kind `matmul` (OPS F8): bias, activation, residual,
//! scale, cast, a gate's multiplication, in the order in which the graph has them.
//!
//! The body is one `MatMul` and nodes over the product's shape. What the body reads besides the product's operands, and
//! what it leaves besides its first result, are the kernel's slots, of which there are four. A value in between that is
//! used elsewhere (or is a result of the program) is such a further result. Where two products feed one node, the one
//! that is ready later takes it: the other way round the earlier one would wait.
//!
//! Left alone: products with a vector operand, nodes of another shape, integer results, 64-bit operands, nodes that
//! read a state which is not f32, and whatever would make the node wait for itself. Values are those of the graph to
//! the bit: the body rounds where the graph rounds.

use crate::pipeline::PassCx;
use crate::rewrite::fuse::{escaping, fuse, operands, results};
use crate::rewrite::{Facts, Groups, cost};
use pumice_ir::{Graph, NodeId, Op, Patch, ValueId};
use pumice_types::{DType, slots};
use std::collections::BTreeSet;

/// Instructions of an epilogue at most. Bias, exact GELU and residual are 94; rounding to f16 is 40 a node.
const INSTRUCTIONS: usize = 512;

/// One patch for every product that takes nodes in.
pub fn fuse_matmul_epilogues(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let mut groups = Groups::new(graph, &facts);
    let depth = depths(graph, &facts);
    let mut anchors: Vec<NodeId> =
        graph.nodes().map(|(id, _)| id).filter(|&id| takes_epilogue(graph, id)).collect();
    anchors.sort_by_key(|id| std::cmp::Reverse((depth[id.index()], *id)));
    for anchor in anchors {
        let group = grow(graph, &facts, &mut groups, anchor);
        let kept = fitting(graph, &facts, anchor, &group);
        if kept.len() > 1 {
            groups.claim(kept.to_vec());
        }
    }
    let mut fused: Vec<&[NodeId]> = groups.iter().collect();
    fused.sort_unstable_by_key(|nodes| nodes[0]);
    fused
        .into_iter()
        .filter_map(|nodes| fuse(graph, "matmul", nodes, &results(graph, &facts, nodes)))
        .collect()
}

/// Steps on the longest way to a node: what is neither a leaf, a view, elementwise nor known when loading is one.
fn depths(graph: &Graph, facts: &Facts) -> Vec<u32> {
    let mut depth = vec![0; graph.nodes().len()];
    for (id, node) in graph.nodes() {
        let before = node.operands().map(|v| depth[graph.value(v).def.0.index()]).max().unwrap_or(0);
        let free =
            node.op.is_leaf() || node.op.is_movement() || node.op.is_elementwise() || facts.is_load_time(id);
        depth[id.index()] = before + u32::from(!free);
    }
    depth
}

fn takes_epilogue(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    matches!(node.op, Op::MatMul(_)) && node.operands().all(|v| graph.ty(v).rank() >= 2)
}

/// The product and every node after it that could be in its epilogue, in graph order.
fn grow(graph: &Graph, facts: &Facts, groups: &mut Groups<'_>, anchor: NodeId) -> Vec<NodeId> {
    let mut group = vec![anchor];
    let mut instructions = 0;
    let mut next: BTreeSet<NodeId> = facts.users(graph.node(anchor).output()).iter().copied().collect();
    while let Some(id) = next.pop_first() {
        let Some(cost) = joins(graph, facts, anchor, id) else { continue };
        let small = instructions + cost <= INSTRUCTIONS;
        if groups.holds(id) || !small || !groups.may_unite(&group, &[id]) {
            continue;
        }
        instructions += cost;
        group.push(id);
        next.extend(facts.users(graph.node(id).output()));
    }
    group
}

/// The instructions a node adds, if an epilogue of the product can hold it.
fn joins(graph: &Graph, facts: &Facts, anchor: NodeId, id: NodeId) -> Option<usize> {
    let product = graph.ty(graph.node(anchor).output());
    let node = graph.node(id);
    let ty = graph.ty(*node.outputs.first()?);
    // The kernel walks two batch axes; a slot over more of them must not depend on any.
    let batches = product.shape[..product.rank() - 2].iter().filter(|d| !d.is(1)).count();
    let operand = |v: ValueId| {
        let ty = graph.ty(v);
        let walked = batches <= 2 || ty.rank() <= 2 || ty.shape == product.shape && is_dense(graph, v);
        let words = ty.dtype() == DType::F32 || !facts.shows_state(v);
        ty.dtype().natural_bytes() < 8 && words && walked
    };
    let fits = node.op.is_elementwise()
        && ty.dtype().is_float()
        && ty.shape == product.shape
        && facts.is_load_time(id) == facts.is_load_time(anchor)
        && node.operands().all(operand);
    fits.then(|| cost::instructions(graph, id)).flatten()
}

/// Whether a value lies dense in the arena, as far as its node shows.
fn is_dense(graph: &Graph, v: ValueId) -> bool {
    let op = &graph.def(v).op;
    op.is_elementwise() || op.body().is_some() || matches!(op, Op::MatMul(_))
}

/// The longest beginning of the group that the kernel's slots can serve.
fn fitting<'r>(graph: &Graph, facts: &Facts, anchor: NodeId, group: &'r [NodeId]) -> &'r [NodeId] {
    let serves = |n: &usize| {
        let nodes = &group[..*n];
        let product: Vec<ValueId> = graph.node(anchor).operands().collect();
        let extra = |v: &ValueId| {
            let in_epilogue = nodes.iter().any(|&n| n != anchor && graph.node(n).operands().any(|o| o == *v));
            !product.contains(v) || in_epilogue
        };
        let reads = operands(graph, nodes).iter().filter(|v| extra(v)).count();
        reads + escaping(graph, facts, nodes).len().saturating_sub(1) <= slots::PRODUCT
    };
    &group[..(1..=group.len()).rev().find(serves).unwrap_or(1)]
}
