//! Layer norm and RMS norm over a suffix of the axes, alone or with what is computed while they load.

use super::LowerResult;
use super::anchor::{self, Hole};
use crate::cx::{LowerCx, node_meaning};
use crate::elementwise;
use crate::fused_body::FusedBody;
use crate::hole::{Filled, Meant};
use crate::rows::{Rows, rounding};
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use crate::unplaced::{PlacedView, StorageClass};
use crate::views::reshaped;
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::{LayerNorm, RmsNorm};
use pumice_ir::{Graph, Node, NodeId, ValueId, ValueType};
use pumice_opt::rewrite::fuse::is_literal;
use pumice_opt::{Anchor, Side};
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder, HoleFill};
use pumice_plan::kernels::norm::{LayerNorm as LayerKernel, RmsNorm as RmsKernel};
use pumice_plan::{Access, Storage, View};
use pumice_types::{DimExpr, slots};

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
    /// Whether statistics are results, too; its expansion takes them apart.
    pub statistics: bool,
}

/// What goes into a norm over the last axis: what its kernel walks row by row, or has one row of for all.
pub fn hole(graph: &Graph, node: &Node, axis: i64) -> Option<Hole> {
    let rank = graph.ty(node.input(0)?).rank();
    let last = normalize_axis(axis, rank).is_ok_and(|a| a + 1 == rank);
    let scales = node.operands().skip(1).all(|v| is_row(graph, v, node));
    let anchor = Anchor { kind: "norm", side: Side::Before };
    (last && scales).then_some(Hole {
        anchor,
        slots: slots::NORM,
        instructions: anchor::CHEAP,
        stores: true,
        walks,
    })
}

pub(super) fn walks(graph: &Graph, norm: &Node, v: ValueId) -> bool {
    let whole = || norm.input(0).is_some_and(|x| graph.ty(v).shape == graph.ty(x).shape);
    is_literal(graph, v) || graph.ty(v).dtype().is_float() && (whole() || is_row(graph, v, norm))
}

/// Whether a value varies along the last axis of what is normalised alone.
fn is_row(graph: &Graph, v: ValueId, norm: &Node) -> bool {
    let whole = norm.input(0).and_then(|x| graph.ty(x).shape.last());
    let Some((n, outer)) = graph.ty(v).shape.split_last() else { return false };
    Some(n) == whole && outer.iter().all(|d| d.is(1))
}

/// Lowers a norm with what its kernel takes in while it loads: that is computed there, and stored where anyone else
/// needs it.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId, norm: &Norm, fused: &FusedBody<'_>) -> LowerResult {
    if norm.statistics {
        return Err("its statistics have not become steps of their own".into());
    }
    let x = cx.dense(fused.operand(0)?)?;
    let reads = fused.extra.iter().map(|&v| contiguous(cx, v)).collect::<LowerResult<Vec<_>>>()?;
    let outputs = cx.graph.node(id).outputs.iter();
    let results = outputs.map(|&v| cx.result(v)).collect::<LowerResult<Vec<_>>>()?;
    let hole = Filled::new(fused.prologue(), reads, &results[1..]);
    let axis = x.axis(norm.axis)?;
    if x.is_empty() {
        return Ok(());
    }
    let normalised = x.view.shape[axis..].to_vec();
    let mut scale = |k| fused.optional(k).map(|v| one_row(cx, v, &normalised)).transpose();
    let scales = [scale(1)?, scale(2)?];
    let meant = Meant { meaning: node_meaning(cx, id)?, inputs: fused.names.clone() };
    emit(cx, (norm, axis), Places { x, scales, y: &results[0] }, hole, meant)
}

/// What a norm reads and writes.
struct Places<'a> {
    x: PlacedView,
    /// Scale and shift; none is 1 and 0.
    scales: [Option<PlacedView>; 2],
    y: &'a PlacedView,
}

/// Adds the step of a norm from an axis on.
fn emit(
    cx: &mut LowerCx<'_>,
    (norm, axis): (&Norm, usize),
    Places { x, scales, y }: Places<'_>,
    hole: Filled,
    Meant { meaning, inputs }: Meant,
) -> LowerResult {
    let rank = x.view.shape.len();
    let space = Rows::of(&x.view.shape, axis..rank);
    let mut step = StepBuilder::new();
    let x = step.touch(&x, Access::ShaderRead).along([space.n.clone()]);
    let [g, b] = scales.map(|at| at.map(|at| step.touch(&at, Access::ShaderRead)));
    let operands: Vec<&Bound> = [&x].into_iter().chain(&g).chain(&b).collect();
    let along = |_: usize, view: &View| Ok(vec![row_stride(view, rank, axis, &space.n)]);
    let (y_bound, slots) = step.through(&hole, &operands, y, &inputs, along)?;
    let reads = &hole.slots[..hole.operands];
    let vec = cx.by_four(&space.n) && reads.iter().all(|at| cx.by_four(&at.view.offset));
    let mut holes = rounding(y.view.dtype, "epilogue")?;
    holes.extend(hole.fill);
    let (call, groups) = call(cx, norm, &space, vec, BoundOperands { x, g, b, y: y_bound }, slots, holes)?;
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
) -> LowerResult<(CallBuilder, DimExpr)> {
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

/// Whether one is added to gamma; the kernel knows no other offset.
fn one_plus(offset: f32) -> LowerResult<u32> {
    match offset {
        0.0 => Ok(0),
        1.0 => Ok(1),
        other => Err(format!("weight_offset {other} is neither 0 nor 1").into()),
    }
}

/// From row to row of a slot; 0 of one row for all.
pub(super) fn row_stride(view: &View, rank: usize, axis: usize, n: &DimExpr) -> DimExpr {
    let per_row = view.shape.len() == rank && !view.shape[..axis].iter().all(|d| d.is(1));
    if per_row { n.clone() } else { DimExpr::constant(0) }
}

/// A scale or shift as one dense row of the normalised extents, broadcast in memory where it is smaller.
fn one_row(cx: &mut LowerCx<'_>, v: ValueId, normalised: &[DimExpr]) -> LowerResult<PlacedView> {
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
    let to = cx.alloc("broadcast", StorageClass::Scratch, Storage::Arena, &ty)?;
    elementwise::copy_broadcast(cx, &at, &to, "a norm takes its scale and shift in full")?;
    Ok(to)
}

/// An addend as contiguous arena words, wherever they start.
pub(super) fn contiguous(cx: &mut LowerCx<'_>, v: ValueId) -> LowerResult<PlacedView> {
    let at = cx.at(v)?;
    if at.view.is_words() && at.view.is_contiguous() { Ok(at) } else { cx.dense(v) }
}

impl From<&LayerNorm> for Norm {
    fn from(n: &LayerNorm) -> Norm {
        Norm { kind: Kind::Layer, axis: n.axis, eps: f64::from(n.epsilon), statistics: n.statistics }
    }
}

impl From<&RmsNorm> for Norm {
    fn from(n: &RmsNorm) -> Norm {
        Norm {
            kind: Kind::Rms(n.weight_offset),
            axis: n.axis,
            eps: f64::from(n.epsilon),
            statistics: n.statistics,
        }
    }
}
