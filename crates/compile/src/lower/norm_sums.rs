//! Sums of a norm's gradient in runs along an axis: by columns, or along rows where the axis is the innermost.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::rows::Rows;
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::NormSums;
use pumice_ir::shape::product;
use pumice_plan::kernel::{Bound, CallBuilder};
use pumice_plan::kernels::norm_grad::{NormSumsColumns, NormSumsRows};
use pumice_types::DimExpr;
use std::cmp::Ordering;

impl Lower for NormSums {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let operands = node.operands().map(|v| cx.dense(v)).collect::<LowerResult<Vec<_>>>()?;
        let results = node.outputs.iter().map(|&v| cx.result(v)).collect::<LowerResult<Vec<_>>>()?;
        if results[0].is_empty() {
            return Ok(());
        }
        cx.fits_u32(&product(&operands[0].view.shape), "x")?;
        let sums = Sums::of(self, &operands)?;
        let mut step = StepBuilder::new();
        let bound: Vec<Bound> = (0..).zip(&operands).map(|(k, at)| step.read(k, at)).collect();
        let [x, dy, inverse] = [0, 1, 2].map(|i| bound[i].clone());
        let mean = bound.get(3).cloned().unwrap_or_else(|| x.unread());
        let [t, d] = [0, 1].map(|i| step.write(&results[i]));
        let bound = [x, dy, inverse, mean, t, d];
        let (call, groups) =
            if sums.space.inner.is(1) { sums.rows(cx, bound)? } else { sums.columns(cx, bound)? };
        step.dispatch_node(cx, id, call, &groups)
    }
}

/// Sums over `run` elements of [`Rows::n`].
struct Sums {
    run: u64,
    space: Rows,
    /// Along which of the axes of `space` the places of the statistics lie, each so often, and how many there are.
    along: u32,
    after: DimExpr,
    places: DimExpr,
    centred: bool,
}

impl Sums {
    fn of(op: &NormSums, operands: &[PlacedView]) -> LowerResult<Sums> {
        let (x, shape) = (&operands[0], &operands[0].view.shape);
        let (axis, of) = (x.axis(op.axis)?, x.axis(op.of)?);
        let (space, places) = (Rows::of(shape, axis..axis + 1), shape[of].clone());
        // The places along the group of axes that theirs is in.
        let end = if of < axis { axis } else { shape.len() };
        let (along, after) = match of.cmp(&axis) {
            Ordering::Less => (0, product(&shape[of + 1..end])),
            Ordering::Equal => (1, DimExpr::constant(1)),
            // One place, which every row has.
            Ordering::Greater if space.inner.is(1) => (0, DimExpr::constant(1)),
            Ordering::Greater => (2, product(&shape[of + 1..end])),
        };
        Ok(Sums { run: op.run, space, along, after, places, centred: operands.len() > 3 })
    }

    fn runs(&self) -> DimExpr {
        self.space.n.ceil_div(&self.run.into())
    }

    fn columns(
        &self,
        cx: &mut LowerCx<'_>,
        [x, dy, inverse, mean, t, d]: [Bound; 6],
    ) -> LowerResult<(CallBuilder, DimExpr)> {
        let Rows { outer, n, inner } = &self.space;
        let results = outer * &self.runs();
        let extents = [results.upper(cx.graph.symbols()), self.run, inner.upper(cx.graph.symbols())];
        let choice = cx.selection.reduce.columns(extents, cx.target).ok_or(NO_KERNEL)?;
        let columns = choice.number("columns");
        let call = NormSumsColumns {
            variant: NormSumsColumns::plain,
            columns,
            vec: u32::from(cx.by_four(inner)),
            along: self.along,
            centred: u32::from(self.centred),
            outer: cx.arg(outer),
            red: cx.arg(n),
            inner: cx.arg(inner),
            of_run: cx.arg(&self.run.into()),
            after: cx.arg(&self.after),
            places: cx.arg(&self.places),
            x,
            dy,
            inverse,
            mean,
            t,
            d,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        Ok((call.into_call(), results * inner.ceil_div(&DimExpr::constant(4 * i64::from(columns)))))
    }

    fn rows(
        &self,
        cx: &mut LowerCx<'_>,
        [x, dy, inverse, mean, t, d]: [Bound; 6],
    ) -> LowerResult<(CallBuilder, DimExpr)> {
        let Rows { outer, n, .. } = &self.space;
        let length = self.run.min(n.upper(cx.graph.symbols()));
        let choice = cx.selection.reduce.rows(length, cx.target).ok_or(NO_KERNEL)?;
        let lanes = choice.number("lanes");
        let call = NormSumsRows {
            variant: NormSumsRows::plain,
            lanes,
            vec: u32::from(cx.by_four(n) && self.run.is_multiple_of(4)),
            along: self.along,
            centred: u32::from(self.centred),
            rows: cx.arg(outer),
            n: cx.arg(n),
            of_run: cx.arg(&self.run.into()),
            after: cx.arg(&self.after),
            places: cx.arg(&self.places),
            x,
            dy,
            inverse,
            mean,
            t,
            d,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let threads = outer * &self.runs() * u64::from(lanes);
        Ok((call.into_call(), threads.ceil_div(&DimExpr::constant(256))))
    }
}
