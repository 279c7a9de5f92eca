//! Matrix products, alone or with the elementwise nodes that follow them.

use super::anchor::Hole;
use super::in_place::{self, Reads};
use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::fused_body::FusedBody;
use crate::hole::{Filled, Meant};
use crate::product::{self, Matrices, ProductSpace};
use crate::unplaced::{PlacedView, StorageClass};
use crate::views::{has_aligned_quads, restride};
use crate::{blocks, codes, elementwise};
use pumice_ir::ops::{MatMul, Rounding};
use pumice_ir::{Graph, Node, NodeId, Op, ValueId, ValueType};
use pumice_plan::kernel::FloatStorage;
use pumice_plan::{Storage, View, dense_strides};
use pumice_types::{DimExpr, slots};

impl Lower for MatMul {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        self.lower_fused(cx, id, &FusedBody::alone(cx, id))
    }

    fn hole(&self, graph: &Graph, node: &Node) -> Option<Hole> {
        let matrices = node.operands().all(|v| graph.ty(v).rank() >= 2);
        matrices.then(|| Hole::after("matmul", slots::PRODUCT, walks))
    }

    fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>) -> LowerResult {
        let (a, b) = (cx.at(fused.operand(0)?)?, cx.stored(fused.operand(1)?)?);
        let mut slots = Vec::new();
        for &v in &fused.extra {
            let at = cx.at(v)?;
            slots.push(cx.words_at(&at, "epilogue")?);
        }
        let results = in_place::results(cx, id, Reads { own: &slots, shared: &[&a, &b] })?;
        let hole = Filled::new(fused.epilogue(false)?, slots, &results[1..]);
        multiply(cx, (id, self), [&a, &b, &results[0]], fused, hole)
    }
}

/// Whether the epilogue can walk a value over the product: it walks two batch axes, and a slot over more of them must
/// not depend on any.
fn walks(graph: &Graph, product: &Node, v: ValueId) -> bool {
    let (result, ty) = (graph.ty(product.output()), graph.ty(v));
    let batches = result.shape[..result.rank() - 2].iter().filter(|d| !d.is(1)).count();
    batches <= 2 || ty.rank() <= 2 || ty.shape == result.shape && is_dense(graph, v)
}

/// Whether a value lies dense in the arena, as far as its node shows.
fn is_dense(graph: &Graph, v: ValueId) -> bool {
    let op = &graph.def(v).op;
    op.is_elementwise() || op.body().is_some() || matches!(op, Op::MatMul(_))
}

/// Adds the steps of `y = epilogue(a · b)`.
fn multiply(
    cx: &mut LowerCx<'_>,
    (id, op): (NodeId, &MatMul),
    [a, b, y]: [&PlacedView; 3],
    fused: &FusedBody<'_>,
    hole: Filled,
) -> LowerResult {
    let full = with_promoted(&fused.ty.shape, [a, b]);
    let promoted = full.len() > fused.ty.rank();
    if hole.slots.iter().any(|s| promoted || s.view.shape.len() > full.len()) {
        return Err("a product of rank 1 takes no epilogue".into());
    }
    // Scales are named after their codes, so these have a name of their own.
    let named = fused.names.iter().any(|(_, i)| *i == 1);
    let b = &if named { b.clone() } else { cx.decoded(b)? };
    let (shown_a, shown_b) = (cx.words_at(a, "a")?, typed_operand(cx, b, op.trans_b)?);
    let a = Factor { shown: shown_a, axis: is_vector(a).then_some(0), trans: op.trans_a };
    let b = Factor { shown: shown_b, axis: is_vector(b).then_some(1), trans: op.trans_b };
    let mut product = Shown { factors: [a, b], hole, copied: Vec::new(), rounding: op.rounding };
    let y_full = restride(y, full.clone(), dense_strides(&full), y.view.offset.clone());
    let space = match product.space(&full, &y_full.view) {
        Some(space) => space,
        None => {
            product.copy_batches(cx, &full)?;
            product.space(&full, &y_full.view).ok_or("its batches do not collapse to two axes")?
        }
    };
    let meant = Meant::over_codes(cx, id, &fused.names, &product.copied, &product.factors[1].shown)?;
    let Shown { factors: [a, b], hole, .. } = product;
    product::emit(cx, space, [&a.shown, &b.shown, y], hole, meant)
}

fn is_vector(factor: &PlacedView) -> bool {
    factor.view.shape.len() == 1
}

/// The shape of a product with the axes that promotion of vectors added.
fn with_promoted(shape: &[DimExpr], [a, b]: [&PlacedView; 2]) -> Vec<DimExpr> {
    let mut full = shape.to_vec();
    if is_vector(a) {
        full.insert(full.len() - usize::from(!is_vector(b)), DimExpr::constant(1));
    }
    if is_vector(b) {
        full.push(DimExpr::constant(1));
    }
    full
}

/// A factor as its step shows it, which is as the graph has it, and how the kernel's matrices come from that.
struct Factor {
    shown: PlacedView,
    /// Where a vector gets the axis that makes it a matrix.
    axis: Option<usize>,
    /// The last two axes of a matrix are swapped.
    trans: bool,
}

impl Factor {
    fn matrices(&self) -> PlacedView {
        match self.axis {
            Some(axis) => insert_axis(&self.shown, axis),
            None => swapped(&self.shown, self.trans),
        }
    }
}

/// What a step shows of a product: factors and the slots of its hole.
struct Shown {
    factors: [Factor; 2],
    hole: Filled,
    /// Types of the operands that were copied with the batch axes of the result, by their numbers among a, b and slots.
    copied: Vec<(usize, ValueType)>,
    rounding: Rounding,
}

impl Shown {
    fn space(&self, full: &[DimExpr], y: &View) -> Option<ProductSpace> {
        let [a, b] = self.factors.each_ref().map(Factor::matrices);
        let slots: Vec<&View> = self.hole.slots.iter().map(|s| &*s.view).collect();
        space(full, [&a.view, &b.view, y], &slots, self.rounding)
    }

    /// For batches that do not collapse to two axes: what has batch axes gets dense copies with all of the result's,
    /// which collapse to one. The step shows the whole copy, so that nothing is read that it does not show.
    fn copy_batches(&mut self, cx: &mut LowerCx<'_>, full: &[DimExpr]) -> LowerResult {
        for (i, factor) in self.factors.iter_mut().enumerate() {
            if has_batch(&factor.shown.view) {
                factor.shown = swapped(&broadcast(cx, &factor.matrices(), full)?, factor.trans);
                self.copied.push((i, type_of(&factor.shown)));
            }
        }
        for (i, slot) in self.hole.slots[..self.hole.operands].iter_mut().enumerate() {
            if has_batch(&slot.view) {
                *slot = broadcast(cx, slot, full)?;
                self.copied.push((2 + i, type_of(slot)));
            }
        }
        Ok(())
    }
}

/// Whether a view of matrices has more than one of them.
fn has_batch(view: &View) -> bool {
    let batch = view.shape.len().saturating_sub(2);
    view.shape[..batch].iter().any(|extent| !extent.is(1))
}

fn type_of(at: &PlacedView) -> ValueType {
    ValueType::new(at.view.dtype, at.view.shape.clone())
}

/// The product's axes over its operands, its result and the slots of its epilogue; all share one collapse.
fn space(
    full: &[DimExpr],
    [a, b, y]: [&View; 3],
    slots: &[&View],
    rounding: Rounding,
) -> Option<ProductSpace> {
    let rank = full.len();
    let views: Vec<&View> = [a, b, y].iter().chain(slots).copied().collect();
    let (batch, mut over) = product::collapse_batch(full, &views)?;
    let slots = over.split_off(3);
    let [a_over, b_over, y] = <[Matrices; 3]>::try_from(over).ok()?;
    // Matrix strides are the operands' own: broadcasting concerns batch axes alone.
    let own = |v: &View, m: Matrices| {
        let r = v.shape.len();
        Matrices { row: v.strides[r - 2].clone(), col: v.strides[r - 1].clone(), ..m }
    };
    let (m, n, k) = (full[rank - 2].clone(), full[rank - 1].clone(), a.shape.last()?.clone());
    Some(ProductSpace { batch, m, n, k, a: own(a, a_over), b: own(b, b_over), y, slots, rounding })
}

/// The right operand as it is stored; 16-bit floats are read as such, blocks where they lie along k, and codes.
pub(super) fn typed_operand(cx: &mut LowerCx<'_>, at: &PlacedView, k_last: bool) -> LowerResult<PlacedView> {
    let strides = &at.view.strides;
    let k = if k_last || strides.len() < 2 { strides.len() - 1 } else { strides.len() - 2 };
    match FloatStorage::of(&at.view) {
        FloatStorage::F32 => Ok(at.clone()),
        FloatStorage::Codes if cx.is_all_codes(at) => Ok(codes::seen(at)),
        FloatStorage::Codes => cx.decoded(at),
        FloatStorage::Blocks(_) if strides[k].is(1) && blocks::is_readable(cx, &at.view) => Ok(at.clone()),
        FloatStorage::Blocks(_) => cx.decoded(at),
        _ if has_aligned_quads(&at.view) => Ok(at.clone()),
        _ => cx.dense_at(at, "b"),
    }
}

fn insert_axis(at: &PlacedView, axis: usize) -> PlacedView {
    let (mut shape, mut strides) = (at.view.shape.clone(), at.view.strides.clone());
    shape.insert(axis, DimExpr::constant(1));
    strides.insert(axis, DimExpr::constant(0));
    restride(at, shape, strides, at.view.offset.clone())
}

fn swapped(at: &PlacedView, swap: bool) -> PlacedView {
    let (mut shape, mut strides) = (at.view.shape.clone(), at.view.strides.clone());
    let r = shape.len();
    if swap {
        shape.swap(r - 2, r - 1);
        strides.swap(r - 2, r - 1);
    }
    restride(at, shape, strides, at.view.offset.clone())
}

/// A dense copy with the batch axes of the result.
fn broadcast(cx: &mut LowerCx<'_>, at: &PlacedView, full: &[DimExpr]) -> LowerResult<PlacedView> {
    let at = &cx.decoded(at)?;
    let (r, rank) = (at.view.shape.len(), full.len());
    let mut shape = full[..rank - 2].to_vec();
    shape.extend_from_slice(&at.view.shape[r - 2..]);
    let ty = ValueType::new(at.view.dtype, shape);
    let to = cx.alloc("broadcast", StorageClass::Scratch, Storage::Arena, &ty)?;
    elementwise::copy_broadcast(cx, at, &to, "a product walks two batch axes, and these are more")?;
    Ok(to)
}
