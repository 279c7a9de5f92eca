//! Reductions of one long row (or one long matrix of columns) whose extent varies become two, as those of a known
//! extent do in `split_reductions`.
//!
//! Over c = ⌊n/q⌋ parts of q elements, q a number, and the n − c·q < q that remain:
//!   sum, product, extremum: of the first c·q elements in parts, joined with that of the remaining ones;
//!   mean: the sum so found, divided by n.
//! A row of fewer than q elements has no part, and a reduction of nothing joins with anything.
//!
//! How many elements there are is known while the program runs, how many there may be before: parts are as long as pays
//! for the longest row, if [`CostModel`](crate::CostModel) says that they pay, because two more levels are paid for
//! short rows, too. Left alone: what `split_reductions` leaves alone, and several rows (their first parts are not
//! dense).

use super::separate_reduced_axes::{exact_in_parts, neighbouring_axes};
use crate::pipeline::PassCx;
use crate::rewrite::{range_of, upper};
use pumice_ir::ops::reduce::Reduction;
use pumice_ir::ops::{Add, Cast, Div, Extent, ReduceSum, Reshape};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr, ReductionExtents};

/// One patch for every reduction that is cut.
pub fn split_varying_reductions(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    graph.nodes().filter_map(|(id, node)| Some(Cut::of(graph, cx, id, node)?.patch(graph))).collect()
}

/// A reduction and how it is cut.
struct Cut<'g> {
    id: NodeId,
    reduction: &'g dyn Reduction,
    x: ValueId,
    /// All reduced extents, and what follows the last of them.
    reduced: DimExpr,
    inner: Vec<DimExpr>,
    /// Elements of a part.
    len: u64,
}

impl<'g> Cut<'g> {
    fn of(graph: &'g Graph, cx: &PassCx<'_>, id: NodeId, node: &'g Node) -> Option<Cut<'g>> {
        let reduction = node.op.as_reduction()?;
        let x = node.input(0)?;
        let ty = graph.ty(x);
        if !exact_in_parts(reduction, ty.dtype()) {
            return None;
        }
        let shape = &ty.shape[..];
        let (first, last) = neighbouring_axes(reduction, shape)?;
        let single = shape[..first].iter().all(|d| d.is(1));
        let reduced = shape[first..=last].iter().fold(DimExpr::constant(1), |n, d| n * d.clone());
        if !single || reduced.as_const().is_some() {
            return None;
        }
        let symbols = cx.symbols(graph);
        let inner = shape[last + 1..].to_vec();
        let one_by_one = ty.dtype() != DType::F32;
        let longest = ReductionExtents {
            outer: 1,
            reduced: upper([&reduced], symbols),
            inner: upper(&inner, symbols),
            one_by_one,
        };
        let parts = cx.cost_model.varying_reduction_parts(&longest);
        if parts < 2 || longest.inner == 0 {
            return None;
        }
        // Whole groups of four elements are read faster.
        let len = longest.reduced.div_ceil(parts).next_multiple_of(4);
        Some(Cut { id, reduction, x, reduced, inner, len })
    }

    fn patch(&self, graph: &Graph) -> Patch {
        let name = graph.node_name(self.id);
        let result = graph.node(self.id).output();
        let patch = Patch::new(format!("split {name} into parts of {}", self.len));
        let mut steps = Steps { patch, name };
        let x = steps.shaped("rows", PatchRef::Old(self.x), self.rows([self.reduced.clone()]));
        let parts = self.reduced.floor_div(&self.len.into());
        let main = parts.clone() * DimExpr::from(self.len);
        let first = steps.add("first", range_of(0, DimExpr::constant(0)..main.clone()), &[x]);
        let parts = steps.shaped("parts", first, self.rows([parts, self.len.into()]));
        let of_parts = steps.add("of_parts", self.over(1), &[parts]);
        let of_first = steps.add("of_first", self.over(0), &[of_parts]);
        let remaining = steps.add("remaining", range_of(0, main..self.reduced.clone()), &[x]);
        let of_remaining = steps.add("of_remaining", self.over(0), &[remaining]);
        let mut y = if self.reduction.is_mean() {
            let sum = steps.add("sum", Add {}, &[of_first, of_remaining]);
            let extent = steps.add("extent", Extent { axis: 0 }, &[x]);
            let elements = steps.add("elements", Cast { to: graph.ty(self.x).dtype() }, &[extent]);
            steps.add("mean", Div {}, &[sum, elements])
        } else {
            steps.add("joined", self.reduction.join(), &[of_first, of_remaining])
        };
        let shape = graph.ty(result).shape.to_vec();
        if shape != self.inner {
            y = steps.shaped("result", y, shape);
        }
        let mut patch = steps.patch;
        patch.replace(result, y);
        patch
    }

    /// Extents before those that follow the reduced axes.
    fn rows<const N: usize>(&self, extents: [DimExpr; N]) -> Vec<DimExpr> {
        extents.into_iter().chain(self.inner.iter().cloned()).collect()
    }

    /// The reduction over one axis; of a mean the sum.
    fn over(&self, axis: usize) -> Op {
        if self.reduction.is_mean() {
            return ReduceSum { axes: vec![axis as i64], keepdims: false, noop_with_empty_axes: false }
                .into();
        }
        self.reduction.over(&[axis], false)
    }
}

/// The nodes of a patch, named after the one that they replace.
struct Steps<'n> {
    patch: Patch,
    name: &'n str,
}

impl Steps<'_> {
    fn add(&mut self, part: &str, op: impl Into<Op>, operands: &[PatchRef]) -> PatchRef {
        self.patch.add(op, format!("{}.{part}", self.name), operands)
    }

    fn shaped(&mut self, part: &str, x: PatchRef, shape: Vec<DimExpr>) -> PatchRef {
        self.add(part, Reshape { shape }, &[x])
    }
}
