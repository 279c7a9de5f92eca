//! Reductions of few long rows become two: each part of a row by itself, then what the parts gave.
//!
//! One result is made by one group of threads, so few results leave most of a device idle. Over c parts of q elements,
//! reduce(x\[outer, c·q, inner\]) == reduce(reduce(x\[outer, c, q, inner\])), for sums, extrema and products, and for
//! means because all parts are equal. Where no number near c divides the one row (or one matrix of columns) there is,
//! the first c·q elements are reduced so, the few that remain in one step, and
//!   sum, product, extremum: of both;
//!   mean(x) == mean(first)·(c·q/n) + mean(remaining)·((n − c·q)/n),
//! whose shares round by 2⁻²⁴ each, as one more term of the sum does.
//!
//! NaN wins in every step that it would win in one; sums and products are rounded in another order. Only views,
//! reductions and elementwise nodes are added, no leaf.
//!
//! What is known when loading is cut only where no kernel takes it in one step. Left alone: 16-bit floats and means of
//! integers (each part would be rounded), reduced axes with others between them, extents that vary among the reduced
//! ones (`split_varying_reductions`), no elements, and several rows that no number divides (their first parts are not
//! dense, and kernels want them so). How many parts pay or must be, kernels know ([`CostModel`](crate::CostModel)).

use super::separate_reduced_axes::{exact_in_parts, neighbouring_axes};
use crate::pipeline::PassCx;
use crate::rewrite::{Facts, Parts, range_of, upper};
use pumice_ir::ops::reduce::Reduction;
use pumice_ir::ops::{Affine, Reshape};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr, ReductionExtents};

/// One patch for every reduction that is cut.
pub fn split_reductions(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let cut = |(id, node)| Cut::of(graph, cx, id, node, facts.is_load_time(id));
    graph.nodes().filter_map(cut).map(|cut| cut.patch(graph, &facts)).collect()
}

/// A reduction and how it is cut.
struct Cut<'g> {
    id: NodeId,
    op: &'g Op,
    reduction: &'g dyn Reduction,
    x: ValueId,
    /// Extents of the operand.
    shape: &'g [DimExpr],
    /// The first reduced axis that is longer than 1.
    first: usize,
    /// The last one.
    last: usize,
    /// Elements that make one result.
    reduced: u64,
    parts: Parts,
}

impl<'g> Cut<'g> {
    /// `loading`: the node's value is known when loading, where speed matters little.
    fn of(graph: &'g Graph, cx: &PassCx<'_>, id: NodeId, node: &'g Node, loading: bool) -> Option<Cut<'g>> {
        let reduction = node.op.as_reduction()?;
        let x = node.input(0)?;
        let ty = graph.ty(x);
        if !exact_in_parts(reduction, ty.dtype()) {
            return None;
        }
        let shape = &ty.shape[..];
        let (first, last) = neighbouring_axes(reduction, shape)?;
        let extents = shape[first..=last].iter().map(DimExpr::as_extent);
        let reduced = extents.into_iter().try_fold(1u64, |n, d| n.checked_mul(d?))?;
        let symbols = cx.symbols(graph);
        let (outer, inner) = (upper(&shape[..first], symbols), upper(&shape[last + 1..], symbols));
        if outer == 0 || inner == 0 {
            return None;
        }
        let one_by_one = ty.dtype() != DType::F32;
        let extents = ReductionExtents { outer, reduced, inner, one_by_one };
        let least = cx.cost_model.least_reduction_parts(&extents);
        let wanted = if loading { least } else { least.max(cx.cost_model.reduction_parts(&extents)) };
        let parts = parts(reduced, wanted, inner == 1)?;
        let divided = parts.elements() == reduced;
        let single = shape[..first].iter().all(|d| d.is(1));
        (divided || single).then_some(Cut {
            id,
            op: &node.op,
            reduction,
            x,
            shape,
            first,
            last,
            reduced,
            parts,
        })
    }

    fn patch(&self, graph: &Graph, facts: &Facts) -> Patch {
        let name = graph.node_name(self.id);
        let mut patch = Patch::new(format!("split {name} into {} parts", self.parts.count));
        let x = PatchRef::Old(self.x);
        let main = self.parts.elements();
        let y = if main == self.reduced {
            let parts =
                Reshaped { graph, facts, shape: &self.parts_shape() }.value(&mut patch, self.x, MOVED);
            self.twice(&mut patch, parts, name, name)
        } else {
            let rows = self.rows(&mut patch, x, name);
            let first = self.slice(&mut patch, rows, 0..main, &format!("{name}.first"));
            let shape = self.parts_shape();
            let parts = patch.add(Reshape { shape }, format!("{name}.parts"), &[first]);
            let of_first = self.twice(&mut patch, parts, name, &format!("{name}.of_first"));
            let remaining = self.slice(&mut patch, rows, main..self.reduced, &format!("{name}.remaining"));
            let of_remaining = patch.add(self.op.clone(), format!("{name}.of_remaining"), &[remaining]);
            self.combine(&mut patch, of_first, of_remaining, name)
        };
        patch.replace(graph.node(self.id).output(), y);
        patch
    }

    /// The operand with all it reduces along axis `first`; axes of extent 1 follow in the place of the others.
    fn rows(&self, patch: &mut Patch, x: PatchRef, name: &str) -> PatchRef {
        if self.first == self.last {
            return x;
        }
        let mut shape = self.shape.to_vec();
        shape[self.first..=self.last].fill(1u64.into());
        shape[self.first] = self.reduced.into();
        patch.add(Reshape { shape }, format!("{name}.rows"), &[x])
    }

    fn slice(&self, patch: &mut Patch, x: PatchRef, range: std::ops::Range<u64>, name: &str) -> PatchRef {
        patch.add(range_of(self.first as i64, range), name, &[x])
    }

    /// The axis of the elements of a part.
    fn within(&self) -> usize {
        self.last + usize::from(self.first == self.last)
    }

    /// The extents of the operand in parts. They are as many as the operand's, or one more.
    fn parts_shape(&self) -> Vec<DimExpr> {
        let mut between = vec![DimExpr::constant(1); self.within() - self.first + 1];
        between[0] = self.parts.count.into();
        between[self.within() - self.first] = self.parts.len.into();
        [&self.shape[..self.first], &between, &self.shape[self.last + 1..]].concat()
    }

    /// Both reductions of an operand in parts. The partial results have as many axes as the operand, so that the second
    /// reduction is the op itself and gives its type.
    fn twice(&self, patch: &mut Patch, parts: PatchRef, name: &str, result: &str) -> PatchRef {
        let single = self.first == self.last;
        let of_parts =
            patch.add(self.reduction.over(&[self.within()], !single), format!("{name}.of_parts"), &[parts]);
        patch.add(self.op.clone(), result, &[of_parts])
    }

    fn combine(&self, patch: &mut Patch, a: PatchRef, b: PatchRef, name: &str) -> PatchRef {
        let op = self.reduction.join();
        if !self.reduction.is_mean() {
            return patch.add(op, name, &[a, b]);
        }
        let main = self.parts.elements();
        let mut share = |v: PatchRef, elements: u64, of: &str| {
            let mul = (elements as f64 / self.reduced as f64) as f32;
            patch.add(Affine { mul, add: 0.0 }, format!("{name}.share_of_{of}"), &[v])
        };
        let (a, b) = (share(a, main, "first"), share(b, self.reduced - main, "remaining"));
        patch.add(op, name, &[a, b])
    }
}

/// Elementwise nodes that are seen in parts at most.
const MOVED: u32 = 8;

/// Values under another shape. What elementwise nodes make for nobody else is made under it, so that the kernel that
/// reads the parts takes these nodes in.
struct Reshaped<'a> {
    graph: &'a Graph,
    facts: &'a Facts,
    shape: &'a [DimExpr],
}

impl Reshaped<'_> {
    fn value(&self, patch: &mut Patch, v: ValueId, moved: u32) -> PatchRef {
        if self.is_one(v) {
            return PatchRef::Old(v);
        }
        let name = &self.graph.value(v).name;
        let Some(node) = self.made_for_parts(v).filter(|_| moved > 0) else {
            return patch.add(
                Reshape { shape: self.shape.to_vec() },
                format!("{name}.parts"),
                &[PatchRef::Old(v)],
            );
        };
        let operands: Vec<PatchRef> =
            node.operands().map(|operand| self.value(patch, operand, moved - 1)).collect();
        patch.add(node.op.clone(), format!("{name}.in_parts"), &operands)
    }

    /// The elementwise node that makes a value for one reader, of values that have all of its elements, or one.
    fn made_for_parts(&self, v: ValueId) -> Option<&Node> {
        let node = self.graph.node(self.graph.value(v).def.0);
        let alike =
            |operand: ValueId| self.graph.ty(operand).shape == self.graph.ty(v).shape || self.is_one(operand);
        let is_moved = node.op.is_elementwise()
            && node.outputs.len() == 1
            && node.inputs.iter().all(Option::is_some)
            && node.operands().all(alike)
            && !node.operands().all(|operand| self.is_one(operand));
        (is_moved && self.facts.only_user(v).is_some()).then_some(node)
    }

    /// Whether a value is one number, which broadcasts to any shape.
    fn is_one(&self, v: ValueId) -> bool {
        let shape = &self.graph.ty(v).shape;
        shape.len() <= self.shape.len() && shape.iter().all(|extent| extent.is(1))
    }
}

/// Whether the last axis of so many f32 rows of `n` elements is cut without a rest, or the rest is one row's.
pub(super) fn cuts_rows(cx: &PassCx<'_>, rows: u64, n: u64) -> bool {
    let extents = ReductionExtents { outer: rows, reduced: n, inner: 1, one_by_one: false };
    let parts = parts(n, cx.cost_model.reduction_parts(&extents), true);
    parts.is_some_and(|p| rows == 1 || p.count * p.len == n)
}

/// About `wanted` parts (half to twice as many) of n elements: the number nearest to it that divides n, among those
/// with parts of a multiple of four elements where `quads` asks for it and there is one. Where none divides n, `wanted`
/// parts of equal length leave some. `None`: the parts would have fewer than two elements, or fewer than two are
/// wanted.
fn parts(n: u64, wanted: u64, quads: bool) -> Option<Parts> {
    if wanted < 2 {
        return None;
    }
    let near = wanted.div_ceil(2).max(2)..=wanted.saturating_mul(2).min(n / 2);
    let dividing = near.filter(|c| n.is_multiple_of(*c)).map(|count| Parts { count, len: n / count });
    let odd = |p: &Parts| quads && !p.len.is_multiple_of(4);
    if let Some(parts) = dividing.min_by_key(|p| (odd(p), p.count.abs_diff(wanted))) {
        return Some(parts);
    }
    let len = n / wanted;
    let len = if quads && len >= 4 { len - len % 4 } else { len };
    (len >= 2).then_some(Parts { count: wanted, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(n: u64, wanted: u64, quads: bool) -> Option<(u64, u64)> {
        parts(n, wanted, quads).map(|p| (p.count, p.len))
    }

    #[test]
    fn numbers_near_the_wanted_one_that_divide() {
        assert_eq!(cut(1 << 20, 256, true), Some((256, 4096)));
        // Four parts have 6 elements each, three have 8.
        assert_eq!(cut(24, 4, false), Some((4, 6)));
        assert_eq!(cut(24, 4, true), Some((3, 8)));
        // No part of 30 or 15 is a multiple of four.
        assert_eq!(cut(30, 2, true), Some((2, 15)));
        assert_eq!(cut(1_000_000, 7, false), Some((8, 125_000)));
    }

    #[test]
    fn the_rest_of_an_axis_that_nothing_near_divides() {
        assert_eq!(cut(262_147, 64, true), Some((64, 4096)));
        assert_eq!(cut(262_147, 64, false), Some((64, 4096)));
        assert_eq!(cut(23, 3, true), Some((3, 4)));
        assert_eq!(cut(23, 3, false), Some((3, 7)));
    }

    #[test]
    fn too_short_to_cut() {
        assert_eq!(cut(4096, 1, true), None);
        assert_eq!(cut(3, 2, true), None);
        assert_eq!(cut(0, 9, true), None);
        assert_eq!(cut(7, u64::MAX, false), None);
    }
}
