//! Attention of few queries over many keys becomes attention in parts of the keys, and one step that makes their
//! results one.
//!
//! attention(q, k, v) == merge(attention of each part): with m_p the largest score of part p and m the largest of all,
//! Σ_j e^(s_j − m)·v_j == Σ_p e^(m_p − m) Σ_{j of p} e^(s_j − m_p)·v_j, and the same without v_j. Keys are split in
//! blocks, so that parts are alike long whatever the length turns out to be. The order of summation changes, so values
//! agree within the tolerance of Attention; a sum of very many keys becomes shorter ones.
//!
//! A sink is one part more, and the logarithm of a sum follows from the parts: both are the merge's.
//!
//! Left alone: queries that are rounded to 16 bits (parts are f32), widths that are not multiples of four, places of
//! the first query and ALiBi, which parts do not take, what is known when loading, and whatever
//! [`CostModel`](crate::CostModel) finds fast enough.

use crate::pipeline::PassCx;
use crate::rewrite::Facts;
use pumice_ir::ops::attention::{ALIBI, OFFSET, SINKS};
use pumice_ir::ops::{Attention, AttentionMerge, AttentionParts};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef};
use pumice_types::{AttentionExtents, DType, DimExpr};

/// One patch for every attention that is made in parts.
pub fn split_attention(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let split = |(id, node): (NodeId, &Node)| match &node.op {
        Op::Attention(op) if !facts.is_load_time(id) => {
            let extents = extents(graph, cx, node, op)?;
            let parts = cx.cost_model.attention_parts(&extents);
            (parts > 1).then(|| patch(graph, id, node, op, parts))
        }
        _ => None,
    };
    graph.nodes().filter_map(split).collect()
}

/// Upper bounds, where the widths are known and whole quads.
fn extents(graph: &Graph, cx: &PassCx<'_>, node: &Node, op: &Attention) -> Option<AttentionExtents> {
    let symbols = cx.symbols(graph);
    let axes = op.layout.axes();
    let of = |i: usize| node.input(i).map(|v| axes.map(|a| graph.ty(v).shape[a].clone()));
    let up = |d: &DimExpr| d.upper(symbols);
    let width = |d: &DimExpr| d.as_extent().filter(|n| *n > 0 && n.is_multiple_of(4));
    let ([batch, heads, queries, d], [_, key_heads, keys, _], [.., dv]) = (of(0)?, of(1)?, of(2)?);
    let taken = [OFFSET, ALIBI].iter().all(|&i| node.input(i).is_none());
    (taken && graph.ty(node.output()).dtype() == DType::F32).then_some(())?;
    Some(AttentionExtents {
        batches: up(&batch),
        heads: up(&heads),
        key_heads: up(&key_heads),
        queries: up(&queries),
        keys: up(&keys),
        d: width(&d)?,
        dv: width(&dv)?,
    })
}

fn patch(graph: &Graph, id: NodeId, node: &Node, op: &Attention, parts: u64) -> Patch {
    let name = graph.node_name(id);
    let mut patch = Patch::new(format!("make {name} in {parts} parts of its keys"));
    let inputs = (0..5).map(|i| node.input(i).map(PatchRef::Old)).collect();
    let of_parts = patch.add_opt(AttentionParts::of(op, parts), format!("{name}.parts"), inputs);
    let sinks = node.input(SINKS).map(|v| Some(PatchRef::Old(v)));
    let inputs = std::iter::once(Some(of_parts)).chain(sinks).collect();
    let merge = AttentionMerge { layout: op.layout, lse: op.lse };
    let y = patch.add_opt(merge, name, inputs);
    patch.replace(node.output(), y);
    if let Some((&lse, sums)) = node.outputs.get(1).zip(y.result(1)) {
        patch.replace(lse, sums);
    }
    patch
}
