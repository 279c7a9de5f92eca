//! A long reduction over axes with others between them becomes two: over the last axis, then over the rest.
//!
//! reduce(x over A ∪ {b}) == reduce(reduce(x over b) over A): for sums, extrema and products, and for means because all
//! parts are equal. Integers wrap in their own width in either order; their mean truncates and is left alone, as are 16-bit
//! floats (the parts would be rounded), and everything that a kernel takes in one step ([`Advice`](crate::Advice)).

use crate::pipeline::PassCx;
use pumice_ir::ops::reduce::Reduction;
use pumice_ir::{Graph, Node, NodeId, Patch, PatchRef};
use pumice_types::{DType, ReductionExtents};

/// One patch for every reduction that is separated.
pub fn separate_reduced_axes(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    graph.nodes().filter_map(|(id, node)| separate(graph, cx, id, node)).collect()
}

fn separate(graph: &Graph, cx: &PassCx<'_>, id: NodeId, node: &Node) -> Option<Patch> {
    let reduction = node.op.as_reduction()?;
    let x = node.input(0)?;
    let ty = graph.ty(x);
    if !exact_in_parts(reduction, ty.dtype()) {
        return None;
    }
    let mut axes = reduction.axes(ty.rank()).ok()?;
    axes.retain(|&a| !ty.shape[a].is(1));
    let (first, last) = (*axes.first()?, *axes.last()?);
    if (first..=last).all(|a| ty.shape[a].is(1) || axes.contains(&a)) {
        return None;
    }
    let symbols = cx.symbols(graph);
    let reduced = axes.iter().fold(1u64, |n, &a| n.saturating_mul(ty.shape[a].upper(symbols)));
    let extents = ReductionExtents { outer: 1, reduced, inner: 1, one_by_one: true };
    if cx.advice.least_reduction_parts(&extents) == 1 {
        return None;
    }
    let name = graph.node_name(id);
    let mut patch = Patch::new(format!("separate the axes of {name}"));
    let of_last = patch.add(reduction.over(last, true), format!("{name}.over_{last}"), &[PatchRef::Old(x)]);
    let y = patch.add(node.op.clone(), name, &[of_last]);
    patch.replace(node.output(), y);
    Some(patch)
}

/// Whether reducing parts, and then what they gave, is the reduction but for the order of rounding.
pub(super) fn exact_in_parts(reduction: &dyn Reduction, dtype: DType) -> bool {
    let integer = !dtype.is_float() && dtype != DType::Bool;
    dtype == DType::F32 || (integer && !reduction.is_mean())
}
