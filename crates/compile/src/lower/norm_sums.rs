//! Sums of a norm's gradient in runs along an axis: by columns, or along rows where the axis is the innermost.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::rows::Rows;
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::NormSums;
use pumice_ir::shape::product;
use pumice_plan::kernel::{Bound, CallBuilder};
use pumice_plan::kernels::norm_grad::{NormSumsColumns, NormSumsRows};
use pumice_types::DimExpr;

impl Lower for NormSums {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let operands = node.operands().map(|v| cx.dense(v)).collect::<LowerResult<Vec<_>>>()?;
        let results = node.outputs.iter().map(|&v| cx.result(v)).collect::<LowerResult<Vec<_>>>()?;
        if results[0].is_empty() {
            return Ok(());
        }
        let x = &operands[0];
        let (axis, of) = (x.axis(self.axis)?, x.axis(self.of)?);
        let space = Rows::of(&x.view.shape, axis..axis + 1);
        // The places along the group of axes that theirs is in.
        let end = if of < axis { axis } else { x.view.shape.len() };
        let after = if of == axis { DimExpr::constant(1) } else { product(&x.view.shape[of + 1..end]) };
        let along = if of == axis { 1 } else { 2 * u32::from(of > axis) };
        let places = x.view.shape[of].clone();
        cx.fits_u32(&product(&x.view.shape), "x")?;
        let mut step = StepBuilder::new();
        let bound: Vec<Bound> = (0..).zip(&operands).map(|(k, at)| step.read(k, at)).collect();
        let [x, dy, inverse] = [0, 1, 2].map(|i| bound[i].clone());
        let (centred, mean) = (bound.get(3).is_some(), bound.get(3).cloned().unwrap_or_else(|| x.unread()));
        let [t, d] = [0, 1].map(|i| step.write(&results[i]));
        let sums = Sums { run: self.run, space, along, after, places, centred };
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
