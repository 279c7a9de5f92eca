//! Reductions over any set of axes.

use super::LowerResult;
use super::in_place::{self, Reads};
use super::norm::contiguous;
use super::reduce_groups::{Groups, Layout, Walk};
use crate::cx::{LowerCx, node_meaning};
use crate::fused_body::FusedBody;
use crate::hole::{self, Meant};
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::shape::product;
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder};
use pumice_plan::kernels::reduce::{ReduceColumns, ReduceInt, ReduceRows, ReduceStrided};
use pumice_plan::{Access, HoleFill, View};
use pumice_types::{DType, DimExpr};

/// Lowers a reduction over these axes with what its kernel takes in while it loads; `kind` is one of
/// `kernels::reduce::op`.
pub fn lower(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    (kind, axes): (u32, &[usize]),
    fused: &FusedBody<'_>,
) -> LowerResult {
    let x = cx.dense(fused.operand(0)?)?;
    let result = cx.graph.node(id).output();
    let is_empty = cx.graph.ty(result).shape.iter().any(|d| d.is(0));
    if x.view.dtype.arena_bytes() == 8 && !cx.target.features.int64 && !is_empty {
        return super::host::lower(cx, id);
    }
    let fill = fused.prologue();
    let y = match fill {
        Some(_) => cx.result(result)?,
        None => in_place::result(cx, id, Reads { own: &[], shared: &[&x] })?,
    };
    if is_empty {
        return Ok(());
    }
    let reads = fused.extra.iter().map(|&v| contiguous(cx, v)).collect::<LowerResult<Vec<_>>>()?;
    let groups = Groups::of(&x.view.shape, axes);
    let walk =
        |at: &PlacedView| groups.walk(&at.view.shape).ok_or("its kernel does not walk what its hole reads");
    let walks = reads.iter().map(walk).collect::<Result<Vec<_>, _>>()?;
    let count = product(&axes.iter().map(|&a| x.view.shape[a].clone()).collect::<Vec<_>>());
    let meant = Meant { meaning: node_meaning(cx, id)?, inputs: fused.names.clone() };
    let hole = hole::Filled::new(fill, reads, &[]);
    Reduction { x, y, groups, kind, count, hole, walks }.emit(cx, meant)
}

/// A reduction that is not empty.
struct Reduction {
    x: PlacedView,
    y: PlacedView,
    groups: Groups,
    /// One of `kernels::reduce::op`.
    kind: u32,
    /// Elements that make one result.
    count: DimExpr,
    hole: hole::Filled,
    /// How each slot of the hole is walked.
    walks: Vec<Walk>,
}

/// What a kernel binds.
struct Operands {
    x: Bound,
    y: Bound,
    slots: Vec<Bound>,
}

/// A filled call and how many groups it takes.
type Filled = (CallBuilder, DimExpr);

impl Reduction {
    fn emit(&self, cx: &mut LowerCx<'_>, Meant { meaning, inputs }: Meant) -> LowerResult {
        let mut step = StepBuilder::new();
        let x = step.touch(&self.x, Access::ShaderRead);
        let layout = self.groups.layout();
        // Of rows a slot has one stride outside of the columns, of columns two, as the arguments of the kernels say.
        let outside = 1 + usize::from(layout == Layout::Columns);
        let along = |i: usize, _: &View| Ok(self.walks[i].outside(outside));
        let (y, slots) = step.through(&self.hole, &[&x], &self.y, &inputs, along)?;
        let operands = Operands { x, y, slots };
        let (call, groups) = match layout {
            _ if !self.x.view.dtype.is_float() => self.integers(cx, operands),
            Layout::Rows => self.rows(cx, operands),
            Layout::Columns => self.columns(cx, operands),
            Layout::Strided => self.strided(cx, operands),
        }?;
        let grid = cx.grid(&groups)?;
        step.dispatch(cx, call, grid, meaning)
    }

    /// What happens while the kernel loads, and the fill that rounds results to 16 bits.
    fn holes(&self) -> LowerResult<Vec<HoleFill>> {
        let mut holes = crate::rows::rounding(self.y.view.dtype, "epilogue")?;
        holes.extend(self.hole.fill.clone());
        Ok(holes)
    }

    /// A bit for each slot whose neighbours are neighbours.
    fn slot_cols(&self) -> u32 {
        (0..).zip(&self.walks).map(|(i, walk)| u32::from(walk.has_columns()) << i).sum()
    }

    /// Whether four columns of everything lie together where rows of the operand do.
    fn by_four(&self, cx: &LowerCx<'_>, columns: &DimExpr) -> bool {
        let slots = self.walks.iter().zip(&self.hole.slots).filter(|(walk, _)| walk.has_columns());
        let mut begins = slots.map(|(_, at)| &at.view.offset);
        cx.by_four(columns) && begins.all(|offset| cx.by_four(offset))
    }

    fn rows(&self, cx: &mut LowerCx<'_>, Operands { x, y, slots }: Operands) -> LowerResult<Filled> {
        let (rows, n) = (product(&self.groups.extents(false)), &self.count);
        let choice = cx.selection.reduce.rows(n.upper(cx.graph.symbols()), cx.target).ok_or(NO_KERNEL)?;
        let lanes = choice.number("lanes");
        let call = ReduceRows {
            variant: choice.variant.name,
            op: self.kind,
            lanes,
            vec: u32::from(self.by_four(cx, n)),
            slot_cols: self.slot_cols(),
            rows: cx.arg(&rows),
            n: cx.arg(n),
            count: cx.arg(n),
            x: x.along([n.clone()]),
            y,
            slots,
            holes: self.holes()?,
        };
        Ok((call.into_call(), threads(rows, lanes)))
    }

    fn columns(&self, cx: &mut LowerCx<'_>, Operands { x, y, slots }: Operands) -> LowerResult<Filled> {
        let kept = self.groups.extents(false);
        let inner = kept.last().cloned().unwrap_or(DimExpr::constant(1));
        let outer = product(&kept[..kept.len().saturating_sub(1)]);
        let symbols = cx.graph.symbols();
        let up = |d: &DimExpr| d.upper(symbols);
        let extents = [&outer, &self.count, &inner].map(up);
        let choice = cx.selection.reduce.columns(extents, cx.target).ok_or(NO_KERNEL)?;
        let columns = choice.number("columns");
        let call = ReduceColumns {
            variant: choice.variant.name,
            op: self.kind,
            columns,
            vec: u32::from(self.by_four(cx, &inner)),
            slot_cols: self.slot_cols(),
            outer: cx.arg(&outer),
            red: cx.arg(&self.count),
            inner: cx.arg(&inner),
            count: cx.arg(&self.count),
            x: x.along([&self.count * &inner, inner.clone()]),
            y,
            slots,
            holes: self.holes()?,
        };
        Ok((call.into_call(), outer * inner.ceil_div(&DimExpr::constant(4 * i64::from(columns)))))
    }

    /// Any axes: up to four that are kept and four that are reduced.
    fn strided(&self, cx: &mut LowerCx<'_>, Operands { x, y, slots }: Operands) -> LowerResult<Filled> {
        let outputs = product(&self.groups.extents(false));
        let lanes = cx.selection.reduce.lanes(self.count.upper(cx.graph.symbols()), cx.target);
        let (kept, kept_stride) = four(cx, &self.groups, false)?;
        let (red, red_stride) = four(cx, &self.groups, true)?;
        let call = ReduceStrided {
            variant: ReduceStrided::plain,
            op: self.kind,
            lanes,
            outputs: cx.arg(&outputs),
            n: cx.arg(&self.count),
            count: cx.arg(&self.count),
            kept,
            kept_stride,
            red,
            red_stride,
            x: x.along([]),
            y,
            slots,
            holes: if self.x.view.dtype.is_float() { self.holes()? } else { Vec::new() },
        };
        Ok((call.into_call(), threads(outputs, lanes)))
    }

    /// As strided, by the kernel for integers, which takes the same arguments.
    fn integers(&self, cx: &mut LowerCx<'_>, operands: Operands) -> LowerResult<Filled> {
        let (call, groups) = self.strided(cx, operands)?;
        let (kind, bits) = integer(self.x.view.dtype);
        let call = call.of(&ReduceInt::DECL, ReduceInt::plain);
        Ok((call.constant("kind", kind).constant("bits", bits), groups))
    }
}

/// `kind` and `bits` of the integer kernel for a dtype. Bool takes part as 0 or 1 in a full word.
fn integer(dtype: DType) -> (u32, u32) {
    let kind = match dtype {
        DType::I8 | DType::I16 | DType::I32 => 0,
        DType::I64 => 2,
        DType::U64 => 3,
        _ => 1,
    };
    (kind, if dtype == DType::Bool { 1 } else { dtype.bits().min(32) })
}

/// Extents and strides of axes.
type Four = ([ArgValue; 4], [ArgValue; 4]);

/// Groups of 256 threads, so many threads for each result.
fn threads(results: DimExpr, lanes: u32) -> DimExpr {
    (results * u64::from(lanes)).ceil_div(&DimExpr::constant(256))
}

/// Kept and reduced axes for the strided kernels, which take four of each, unused leading ones of extent 1.
fn four(cx: &mut LowerCx<'_>, groups: &Groups, reduced: bool) -> LowerResult<Four> {
    let (mut extents, mut strides) = (groups.extents(reduced), groups.strides(reduced));
    while extents.len() < 4 {
        extents.insert(0, DimExpr::constant(1));
        strides.insert(0, DimExpr::constant(0));
    }
    Ok((cx.args(&extents)?, cx.args(&strides)?))
}
