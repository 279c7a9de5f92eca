//! Reductions over any set of axes.

use super::LowerResult;
use super::in_place::{self, Reads};
use crate::cx::LowerCx;
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::shape::product;
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder};
use pumice_plan::kernels::reduce::{ReduceColumns, ReduceInt, ReduceRows, ReduceStrided};
use pumice_plan::{HoleFill, dense_strides};
use pumice_types::{DType, DimExpr};

/// A dense operand as groups of adjacent axes that are all kept or all reduced.
struct Groups {
    /// (reduced?, extent, stride), outermost first; unit axes dropped.
    axes: Vec<(bool, DimExpr, DimExpr)>,
}

impl Groups {
    fn of(shape: &[DimExpr], reduced: &[usize]) -> Groups {
        let strides = dense_strides(shape);
        let mut axes: Vec<(bool, DimExpr, DimExpr)> = Vec::new();
        for (d, (extent, stride)) in shape.iter().zip(strides).enumerate() {
            if extent.is(1) {
                continue;
            }
            let is_reduced = reduced.contains(&d);
            match axes.last_mut() {
                Some((r, e, s)) if *r == is_reduced => (*e, *s) = (&*e * extent, stride),
                _ => axes.push((is_reduced, extent.clone(), stride)),
            }
        }
        Groups { axes }
    }

    fn extents(&self, reduced: bool) -> Vec<DimExpr> {
        self.axes.iter().filter(|a| a.0 == reduced).map(|a| a.1.clone()).collect()
    }

    fn strides(&self, reduced: bool) -> Vec<DimExpr> {
        self.axes.iter().filter(|a| a.0 == reduced).map(|a| a.2.clone()).collect()
    }
}

/// Lowers a reduction of the operand over these axes; `kind` is one of `kernels::reduce::op`.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId, kind: u32, axes: &[usize]) -> LowerResult {
    let node = cx.graph.node(id);
    let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
    let is_empty = cx.graph.ty(node.output()).shape.iter().any(|d| d.is(0));
    if x.view.dtype.arena_bytes() == 8 && !cx.target.features.int64 && !is_empty {
        return super::host::lower(cx, id);
    }
    let y = in_place::result(cx, id, Reads { own: &[], shared: &[&x] })?;
    if is_empty {
        return Ok(());
    }
    let groups = Groups::of(&x.view.shape, axes);
    let count = product(&axes.iter().map(|&a| x.view.shape[a].clone()).collect::<Vec<_>>());
    Reduction { id, x, y, groups, kind, count }.emit(cx)
}

/// A reduction that is not empty.
struct Reduction {
    id: NodeId,
    x: PlacedView,
    y: PlacedView,
    groups: Groups,
    /// One of `kernels::reduce::op`.
    kind: u32,
    /// Elements that make one result.
    count: DimExpr,
}

/// A filled call and how many groups it takes.
type Filled = (CallBuilder, DimExpr);

impl Reduction {
    fn emit(&self, cx: &mut LowerCx<'_>) -> LowerResult {
        let mut step = StepBuilder::new();
        let operands = [step.read(0, &self.x), step.write(&self.y)];
        let pattern: Vec<bool> = self.groups.axes.iter().map(|a| a.0).collect();
        let (call, groups) = match pattern.as_slice() {
            _ if !self.x.view.dtype.is_float() => self.integers(cx, operands),
            [] | [true] | [false, true] => self.rows(cx, operands),
            [true, false] | [false, true, false] => self.columns(cx, operands),
            _ => self.strided(cx, operands),
        }?;
        step.dispatch_node(cx, self.id, call, &groups)
    }

    /// The fill that rounds results to 16 bits.
    fn rounding(&self) -> LowerResult<Vec<HoleFill>> {
        crate::rows::rounding(self.y.view.dtype, "epilogue")
    }

    fn rows(&self, cx: &mut LowerCx<'_>, [x, y]: [Bound; 2]) -> LowerResult<Filled> {
        let (rows, n) = (product(&self.groups.extents(false)), &self.count);
        let choice = cx.selection.reduce.rows(n.upper(cx.graph.symbols()), cx.target).ok_or(NO_KERNEL)?;
        let lanes = choice.number("lanes");
        let call = ReduceRows {
            variant: choice.variant.name,
            op: self.kind,
            lanes,
            vec: u32::from(n.divisor(cx.graph.symbols()).is_multiple_of(4)),
            slot_cols: 0,
            rows: cx.arg(&rows),
            n: cx.arg(n),
            count: cx.arg(n),
            x: x.along([n.clone()]),
            y,
            slots: Vec::new(),
            holes: self.rounding()?,
        };
        Ok((call.into_call(), threads(rows, lanes)))
    }

    fn columns(&self, cx: &mut LowerCx<'_>, [x, y]: [Bound; 2]) -> LowerResult<Filled> {
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
            vec: u32::from(inner.divisor(symbols) % 4 == 0),
            slot_cols: 0,
            outer: cx.arg(&outer),
            red: cx.arg(&self.count),
            inner: cx.arg(&inner),
            count: cx.arg(&self.count),
            x: x.along([&self.count * &inner, inner.clone()]),
            y,
            slots: Vec::new(),
            holes: self.rounding()?,
        };
        Ok((call.into_call(), outer * inner.ceil_div(&DimExpr::constant(4 * i64::from(columns)))))
    }

    /// Any axes: up to four that are kept and four that are reduced.
    fn strided(&self, cx: &mut LowerCx<'_>, [x, y]: [Bound; 2]) -> LowerResult<Filled> {
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
            slots: Vec::new(),
            holes: if self.x.view.dtype.is_float() { self.rounding()? } else { Vec::new() },
        };
        Ok((call.into_call(), threads(outputs, lanes)))
    }

    /// As strided, by the kernel for integers, which takes the same arguments.
    fn integers(&self, cx: &mut LowerCx<'_>, operands: [Bound; 2]) -> LowerResult<Filled> {
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
