//! A reduction over axes with others between them becomes several, one run of neighbouring axes after the other.
//!
//! reduce(x over A ∪ B) == reduce(reduce(x over B) over A): for sums, extrema and products, and for means because all
//! parts are equal. The longest run is reduced first, so that what lies between is small; each step then reads rows or
//! columns, which lie together, where the kernel for any set of axes reads word by word.
//!
//! Integers wrap in their own width in either order; their mean truncates and is left alone, as are 16-bit floats (the
//! parts would be rounded), and everything that a kernel takes in one step and about as fast
//! ([`CostModel`](crate::CostModel)). Integers are separated only where they must be: no kernel for rows takes them.

use crate::pipeline::PassCx;
use crate::rewrite::upper;
use pumice_ir::ops::reduce::Reduction;
use pumice_ir::{Graph, Node, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr, ReductionExtents};

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
    let mut runs = runs(&ty.shape, &reduction.axes(ty.rank()).ok()?);
    if runs.len() < 2 {
        return None;
    }
    let symbols = cx.symbols(graph);
    let length = |run: &Vec<usize>| upper(run.iter().map(|&a| &ty.shape[a]), symbols);
    let reduced = runs.iter().map(length).fold(1, u64::saturating_mul);
    let extents = ReductionExtents { outer: 1, reduced, inner: 1, one_by_one: true };
    let must = cx.cost_model.least_reduction_parts(&extents) > 1;
    let outputs = upper(&*graph.ty(node.output()).shape, symbols);
    if !must && (ty.dtype() != DType::F32 || !cx.cost_model.reduces_apart(outputs, reduced)) {
        return None;
    }
    runs.sort_by_key(|run| std::cmp::Reverse(length(run)));
    runs.pop();
    let name = graph.node_name(id);
    let mut patch = Patch::new(format!("separate the axes of {name}"));
    let mut y = PatchRef::Old(x);
    for run in &runs {
        y = patch.add(reduction.over(run, true), format!("{name}.over_{}", run[0]), &[y]);
    }
    let y = patch.add(node.op.clone(), name, &[y]);
    patch.replace(node.output(), y);
    Some(patch)
}

/// The reduced axes that are longer than 1, in runs with no longer axis between their own.
fn runs(shape: &[DimExpr], axes: &[usize]) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut goes_on = false;
    for (axis, _) in shape.iter().enumerate().filter(|(_, extent)| !extent.is(1)) {
        let reduced = axes.contains(&axis);
        match runs.last_mut().filter(|_| goes_on) {
            Some(run) if reduced => run.push(axis),
            _ if reduced => runs.push(vec![axis]),
            _ => {}
        }
        goes_on = reduced;
    }
    runs
}

/// The first and the last reduced axis that are longer than 1, where no longer axis lies between them.
pub(super) fn neighbouring_axes(reduction: &dyn Reduction, shape: &[DimExpr]) -> Option<(usize, usize)> {
    match runs(shape, &reduction.axes(shape.len()).ok()?).as_slice() {
        [run] => Some((*run.first()?, *run.last()?)),
        _ => None,
    }
}

/// Whether reducing parts, and then what they gave, is the reduction but for the order of rounding.
pub(super) fn exact_in_parts(reduction: &dyn Reduction, dtype: DType) -> bool {
    let integer = !dtype.is_float() && dtype != DType::Bool;
    dtype == DType::F32 || (integer && !reduction.is_mean())
}
