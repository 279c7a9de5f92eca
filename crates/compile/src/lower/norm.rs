//! Layer norm and RMS norm over a suffix of the axes, alone or fused with the residual sum before them.

use super::LowerResult;
use crate::cx::{LowerCx, reshaped};
use crate::draft::{Home, Located};
use crate::elementwise;
use crate::meaning::{StepMeaning, operand};
use crate::rows::{Rows, rounding};
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::{LayerNorm, RmsNorm};
use pumice_ir::{Graph, Node, NodeId, ValueId, ValueType};
use pumice_plan::kernel::{ArgValue, Bound, CallDraft, HoleFill, HoleInput};
use pumice_plan::kernels::norm::{LayerNorm as LayerKernel, RmsNorm as RmsKernel};
use pumice_plan::{Access, Storage};
use pumice_types::DimExpr;
use std::sync::Arc;

/// Which norm.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// Mean and variance.
    Layer,
    /// Mean square; what is added to gamma.
    Rms(f32),
}

/// A norm to lower.
pub struct Norm {
    /// Which.
    pub kind: Kind,
    /// First normalised axis.
    pub axis: i64,
    /// Added under the root.
    pub eps: f64,
}

/// A sum computed while the norm loads its operand: the fill of the kernel's `load` hole and its slots.
pub struct Residual {
    /// The fill.
    pub fill: HoleFill,
    /// Operands of the fill besides the norm's own, dense over the rows or one row for all.
    pub operands: Vec<Located>,
    /// Where the sum is stored, if anyone else needs it.
    pub store: Option<Located>,
}

/// What a norm reads and writes.
pub struct Operands<'a> {
    /// The operand.
    pub x: Located,
    /// The scale; none is 1.
    pub gamma: Option<ValueId>,
    /// The shift; none is 0.
    pub beta: Option<ValueId>,
    /// The result.
    pub y: &'a Located,
}

/// Adds the step of a norm. `meaning_inputs` are the inputs of the meaning by name, each with its number among x,
/// gamma, beta (those that are there) and the residual's operands.
pub fn emit(
    cx: &mut LowerCx<'_>,
    norm: &Norm,
    places: Operands<'_>,
    residual: Option<Residual>,
    meaning: StepMeaning,
    meaning_inputs: &[(Arc<str>, usize)],
) -> LowerResult {
    let x = places.x;
    let rank = x.view.shape.len();
    let axis = normalize_axis(norm.axis, rank).map_err(|e| e.to_string())?;
    if x.view.shape.iter().any(|d| d.is(0)) {
        return Ok(());
    }
    let space = Rows::of(&x.view.shape, axis..rank);
    let normalised = x.view.shape[axis..].to_vec();
    let gamma = places.gamma.map(|v| one_row(cx, v, &normalised)).transpose()?;
    let beta = places.beta.map(|v| one_row(cx, v, &normalised)).transpose()?;
    let mut step = StepBuilder::new();
    let x = step.touch(&x, Access::ShaderRead).along([space.n.clone()]);
    let g = gamma.map(|g| step.touch(&g, Access::ShaderRead));
    let b = beta.map(|b| step.touch(&b, Access::ShaderRead));
    let slots = residual.as_ref().map_or_else(Vec::new, |r| addends(&mut step, r, rank, axis, &space.n));
    let summed = residual.as_ref().map_or(0, |r| r.operands.len());
    let reads: Vec<&Bound> = [&x].into_iter().chain(&g).chain(&b).chain(&slots[..summed]).collect();
    meaning_inputs.iter().for_each(|(name, i)| step.input(Arc::clone(name), reads[*i]));
    let y = step.write(places.y);
    slots[summed..].iter().for_each(|stored| step.wrote(stored));
    let vec = by_quads(cx, &space.n, residual.as_ref());
    let mut holes = rounding(places.y.view.dtype, "epilogue")?;
    holes.extend(residual.map(|r| r.fill));
    let (call, groups) = call(cx, norm, &space, vec, BoundOperands { x, g, b, y }, slots, holes)?;
    let grid = cx.grid(&groups)?;
    step.dispatch(cx, call, grid, meaning)
}

/// The operands of a norm kernel; a scale and a shift may be missing.
struct BoundOperands {
    x: Bound,
    g: Option<Bound>,
    b: Option<Bound>,
    y: Bound,
}

/// The call and its groups. Both norms take the same arguments.
fn call(
    cx: &mut LowerCx<'_>,
    norm: &Norm,
    space: &Rows,
    vec: bool,
    BoundOperands { x, g, b, y }: BoundOperands,
    slots: Vec<Bound>,
    holes: Vec<HoleFill>,
) -> LowerResult<(CallDraft, DimExpr)> {
    let (decl, one_plus) = match norm.kind {
        Kind::Layer => (&LayerKernel::DECL, None),
        Kind::Rms(offset) => (&RmsKernel::DECL, Some(one_plus(offset)?)),
    };
    let n = space.n.upper(cx.graph.symbols());
    let choice = cx.selection.rows.choose(decl, n, cx.target).ok_or(NO_KERNEL)?;
    let lanes = choice.number("lanes");
    let call = LayerKernel {
        variant: choice.variant.name,
        lanes,
        vec: u32::from(vec),
        gamma: u32::from(g.is_some()),
        beta: u32::from(b.is_some()),
        // Every slot has the columns of the rows.
        slot_cols: (1 << slots.len()) - 1,
        rows: cx.arg(&space.outer),
        n: cx.arg(&space.n),
        eps: ArgValue::f32(norm.eps as f32),
        g: g.unwrap_or(x.unread()),
        b: b.unwrap_or(x.unread()),
        x,
        y,
        slots,
        holes,
    };
    let call = call.into_call().of(choice.decl, choice.variant.name);
    let groups = (&space.outer * u64::from(lanes)).ceil_div(&choice.roles.threads.into());
    Ok((one_plus.into_iter().fold(call, |call, one| call.constant("one_plus", one)), groups))
}

/// Whether rows, and the addends that begin elsewhere, can be read four elements at once.
fn by_quads(cx: &LowerCx<'_>, n: &DimExpr, residual: Option<&Residual>) -> bool {
    cx.by_four(n) && residual.iter().flat_map(|r| &r.operands).all(|at| cx.by_four(&at.view.offset))
}

/// Whether one is added to gamma; the kernel knows no other offset.
fn one_plus(offset: f32) -> LowerResult<u32> {
    match offset {
        0.0 => Ok(0),
        1.0 => Ok(1),
        other => Err(format!("weight_offset {other} is neither 0 nor 1").into()),
    }
}

/// Binds what a residual sum reads, then where it is stored. An operand walks the rows, or is one row for all.
fn addends(step: &mut StepBuilder, residual: &Residual, rank: usize, axis: usize, n: &DimExpr) -> Vec<Bound> {
    let read = residual.operands.iter().map(|at| (at, Access::ShaderRead));
    let stored = residual.store.iter().map(|at| (at, Access::ShaderWrite));
    let bind = |(at, access): (&Located, Access)| {
        let per_row = at.view.shape.len() == rank && !at.view.shape[..axis].iter().all(|d| d.is(1));
        step.touch(at, access).along([if per_row { n.clone() } else { DimExpr::constant(0) }])
    };
    read.chain(stored).map(bind).collect()
}

/// A scale or shift as one dense row of the normalised extents, broadcast in memory where it is smaller.
fn one_row(cx: &mut LowerCx<'_>, v: ValueId, normalised: &[DimExpr]) -> LowerResult<Located> {
    let at = cx.dense_typed(v)?;
    let own: Vec<DimExpr> = at.view.shape.iter().skip_while(|d| d.is(1)).cloned().collect();
    let full: Vec<DimExpr> = normalised.iter().skip_while(|d| d.is(1)).cloned().collect();
    if own == full {
        return Ok(reshaped(&at, normalised));
    }
    if own.len() > normalised.len() {
        return Err("its scale or shift varies outside the normalised axes".into());
    }
    let ty = ValueType::new(at.view.dtype, normalised.to_vec());
    let to = cx.alloc("broadcast", Home::Scratch, Storage::Arena, &ty)?;
    elementwise::copy_broadcast(cx, &at, &to, "a norm takes its scale and shift in full")?;
    Ok(to)
}

/// An addend as contiguous arena words, wherever they start.
fn contiguous(cx: &mut LowerCx<'_>, v: ValueId) -> LowerResult<Located> {
    let at = cx.at(v)?;
    if at.view.is_words() && at.view.is_contiguous() { Ok(at) } else { cx.dense(v) }
}

/// Lowers a norm that stands alone.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId, norm: &Norm) -> LowerResult {
    let node = cx.graph.node(id);
    let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
    let y = cx.result(node.output())?;
    let meaning = crate::cx::node_meaning(cx, id)?;
    let present = (0..3).filter(|&k| node.input(k).is_some());
    let names: Vec<(Arc<str>, usize)> = present.map(operand).zip(0..).collect();
    let places = Operands { x, gamma: node.input(1), beta: node.input(2), y: &y };
    emit(cx, norm, places, None, meaning, &names)
}

/// Lowers a fused node whose body is additions followed by a norm of their sum: the additions happen while the norm
/// loads, and the sum is stored where anyone else needs it.
pub fn lower_body(cx: &mut LowerCx<'_>, id: NodeId, norm: &Norm, body: &Graph, anchor: &Node) -> LowerResult {
    let node = cx.graph.node(id);
    let sum = anchor.input(0).ok_or("its norm has no operand")?;
    let inputs = body.inputs();
    let outer: Vec<ValueId> = node.operands().collect();
    let outside = |v: Option<ValueId>| v.and_then(|v| inputs.iter().position(|&i| i == v));
    let (gamma, beta) = (outside(anchor.input(1)), outside(anchor.input(2)));
    let is_addition = |n: &&Node| !n.op.is_leaf_interface() && !std::ptr::eq(*n, anchor);
    let additions: Vec<&Node> = body.nodes().map(|(_, n)| n).filter(is_addition).collect();
    // The kernel's own operand is one of the full-shape addends; the others are slots.
    let used = |v: ValueId| additions.iter().any(|n| n.operands().any(|o| o == v));
    let addends: Vec<usize> = (0..inputs.len()).filter(|&i| used(inputs[i])).collect();
    let full = |i: &usize| body.ty(inputs[*i]).shape == body.ty(sum).shape;
    // It lies at its beginning; slots may lie anywhere (parts of a product do).
    let dense = |i: &&usize| cx.at(outer[**i]).is_ok_and(|at| at.view.is_dense());
    let whole = || addends.iter().filter(|i| full(i));
    let first = *whole().find(dense).or(whole().next()).ok_or("none of its addends has the sum's shape")?;
    let slots: Vec<usize> = addends.iter().copied().filter(|&i| i != first).collect();
    let given: Vec<ValueId> =
        std::iter::once(first).chain(slots.iter().copied()).map(|i| inputs[i]).collect();
    let made = crate::scalars::body(body, &additions, &given, &[sum])?;
    if made.inputs != given || made.raises {
        return Err("its additions fold an operand away".into());
    }
    let x = cx.dense(outer[first])?;
    let operands = slots.iter().map(|&i| contiguous(cx, outer[i])).collect::<LowerResult<Vec<_>>>()?;
    let results: Vec<Located> = node.outputs.iter().map(|&v| cx.result(v)).collect::<LowerResult<_>>()?;
    let store = results.get(1).cloned();
    let fill = HoleFill {
        hole: "load".into(),
        inputs: (0..given.len())
            .map(|i| i.checked_sub(1).map_or(HoleInput::Value(0), |s| HoleInput::Slot(s as u8)))
            .collect(),
        result: Some(0),
        stores: store.iter().map(|_| (operands.len() as u8, 0)).collect(),
        expr: made.expr,
    };
    // Reads in the order of `emit`: x, gamma, beta, then the slots.
    let scales = usize::from(gamma.is_some()) + usize::from(beta.is_some());
    let read = |i: usize| match slots.iter().position(|&s| s == i) {
        _ if i == first => Some(0),
        _ if gamma == Some(i) => Some(1),
        _ if beta == Some(i) => Some(1 + usize::from(gamma.is_some())),
        slot => Some(1 + scales + slot?),
    };
    let named = |i: usize| Some((body.value(inputs[i]).name.clone(), read(i)?));
    let names: Vec<(Arc<str>, usize)> = (0..inputs.len()).filter_map(named).collect();
    let meaning = crate::cx::node_meaning(cx, id)?;
    let places = Operands { x, gamma: gamma.map(|i| outer[i]), beta: beta.map(|i| outer[i]), y: &results[0] };
    emit(cx, norm, places, Some(Residual { fill, operands, store }), meaning, &names)
}

impl From<&LayerNorm> for Norm {
    fn from(n: &LayerNorm) -> Norm {
        Norm { kind: Kind::Layer, axis: n.axis, eps: f64::from(n.epsilon) }
    }
}

impl From<&RmsNorm> for Norm {
    fn from(n: &RmsNorm) -> Norm {
        Norm { kind: Kind::Rms(n.weight_offset), axis: n.axis, eps: f64::from(n.epsilon) }
    }
}
