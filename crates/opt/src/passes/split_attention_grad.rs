//! Gradients of an attention by keys and values that query heads share, one for each query head, and their sum.
//!
//! dk\[kh\] == Σ over the query heads h of kh of dk\[h\], where keys and values are repeated for each h; dv likewise. A
//! group of threads goes over all queries of all heads that share its keys, so few keys under few heads leave most of
//! a device idle. Repeated they are as many as the queries, and so are their gradients; the order of summation changes.
//!
//! Left alone: factors that are rounded (other ops make these), heads that vary, and whatever
//! [`CostModel`](crate::CostModel) finds fast enough.

use crate::pipeline::PassCx;
use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::ops::attention_grad::AttentionFactor;
use pumice_ir::ops::{AttentionGrad, Expand, ReduceSum, Reshape};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef};
use pumice_types::{AttentionExtents, DimExpr};

/// One patch for every gradient that is made for each query head.
pub fn split_attention_grad(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let split = |(id, node): (NodeId, &Node)| match &node.op {
        Op::AttentionGrad(op) if op.of == AttentionFactor::KeysAndValues && op.rounding.is_none() => {
            let heads = Heads::of(graph, cx, node, op.layout)?;
            Some(heads.patch(graph, id, node, op))
        }
        _ => None,
    };
    graph.nodes().filter_map(split).collect()
}

/// Key heads and the query heads of each.
struct Heads {
    /// The axis of heads.
    axis: usize,
    key_heads: u64,
    of_each: u64,
}

impl Heads {
    fn of(graph: &Graph, cx: &PassCx<'_>, node: &Node, layout: AttentionLayout) -> Option<Heads> {
        let symbols = cx.symbols(graph);
        let axes = layout.axes();
        let of = |i: usize| node.input(i).map(|v| axes.map(|a| &graph.ty(v).shape[a]));
        let ([batch, heads, queries, d], [_, key_heads, keys, _], [.., dv]) = (of(0)?, of(1)?, of(2)?);
        let (heads, key_heads) = (heads.as_extent()?, key_heads.as_extent().filter(|n| *n > 0)?);
        let up = |d: &DimExpr| d.upper(symbols);
        let extents = AttentionExtents {
            batches: up(batch),
            heads,
            key_heads,
            queries: up(queries),
            keys: up(keys),
            d: up(d),
            dv: up(dv),
        };
        let of_each = heads / key_heads;
        (of_each > 1 && cx.cost_model.by_keys_for_each_head(&extents)).then_some(Heads {
            axis: axes[1],
            key_heads,
            of_each,
        })
    }

    fn patch(&self, graph: &Graph, id: NodeId, node: &Node, op: &AttentionGrad) -> Patch {
        let name = graph.node_name(id);
        let mut patch = Patch::new(format!("make {name} for each query head"));
        let mut inputs: Vec<Option<PatchRef>> =
            (0..node.inputs.len()).map(|i| node.input(i).map(PatchRef::Old)).collect();
        for (operand, letter) in [(1, "k"), (2, "v")] {
            let Some(v) = node.input(operand) else { continue };
            let shape = &graph.ty(v).shape;
            let (one, each) = (self.apart(shape, 1), self.apart(shape, self.of_each));
            let x = patch.add(Reshape { shape: one }, format!("{name}.{letter}.of_one"), &[PatchRef::Old(v)]);
            let x = patch.add(Expand { shape: each }, format!("{name}.{letter}.of_each"), &[x]);
            let mut shape = shape.to_vec();
            shape[self.axis] = (self.key_heads * self.of_each).into();
            inputs[operand] = Some(patch.add(Reshape { shape }, format!("{name}.{letter}"), &[x]));
        }
        let of_heads = patch.add_opt(op.clone(), format!("{name}.of_heads"), inputs);
        for (number, (&result, letter)) in (0u16..).zip(node.outputs.iter().zip(["k", "v"])) {
            let Some(x) = of_heads.result(number) else { continue };
            let shape = self.apart(&graph.ty(result).shape, self.of_each);
            let x = patch.add(Reshape { shape }, format!("{name}.d{letter}.of_heads"), &[x]);
            let sum =
                ReduceSum { axes: vec![self.axis as i64 + 1], keepdims: false, noop_with_empty_axes: false };
            let sum = patch.add(sum, format!("{name}.d{letter}"), &[x]);
            patch.replace(result, sum);
        }
        patch
    }

    /// A shape with so many query heads of each key head as an axis of their own.
    fn apart(&self, shape: &[DimExpr], of_each: u64) -> Vec<DimExpr> {
        let (before, after) = (&shape[..self.axis], &shape[self.axis + 1..]);
        [before, &[self.key_heads.into(), of_each.into()], after].concat()
    }
}
