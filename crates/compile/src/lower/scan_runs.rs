//! Runs of an axis cumulated: one step.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::rows::Rows;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::ScanRuns;
use pumice_plan::kernels::scan::{ScanFloats, ScanWords, TILE};
use pumice_types::DimExpr;

impl Lower for ScanRuns {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
        let before = node.input(1).map(|before| cx.dense(before)).transpose()?;
        let y = cx.result(node.output())?;
        let axis = x.axis(self.axis)?;
        if y.is_empty() {
            return Ok(());
        }
        let space = Rows::of(&x.view.shape, axis..axis + 1);
        let runs = space.n.ceil_div(&DimExpr::constant(self.run));
        Scan { rows: &space.outer * &space.inner, runs, space }.emit(self, cx, id, (&x, before.as_ref(), &y))
    }
}

/// What is cumulated.
struct Scan {
    /// x as \[outer, n, inner\].
    space: Rows,
    rows: DimExpr,
    /// Runs of a row.
    runs: DimExpr,
}

impl Scan {
    /// Rows side by side lie side by side in memory; of one row the elements do.
    fn across(&self) -> bool {
        !self.space.inner.is(1)
    }

    fn groups(&self, op: &ScanRuns) -> DimExpr {
        let (run, tile) = (DimExpr::constant(op.run), DimExpr::from(TILE));
        match self.across() {
            true => &self.runs * &(&self.rows * &run).ceil_div(&tile),
            false => (&self.rows * &self.runs * &run).ceil_div(&tile),
        }
    }

    /// The step of x, what comes before, and y.
    fn emit(
        &self,
        op: &ScanRuns,
        cx: &mut LowerCx<'_>,
        id: NodeId,
        (x, before, y): (&PlacedView, Option<&PlacedView>, &PlacedView),
    ) -> LowerResult {
        let groups = self.groups(op);
        cx.fits_u32(&(&groups * &DimExpr::from(TILE)), "the operand with what fills runs up")?;
        let mut step = StepBuilder::new();
        let x_bound = step.read(0, x);
        let call = ScanFloats {
            variant: ScanFloats::plain,
            product: u32::from(op.product),
            exclusive: u32::from(op.exclusive),
            reverse: u32::from(op.reverse),
            totals: u32::from(op.totals),
            given: u32::from(before.is_some()),
            levels: op.run.ilog2(),
            across: u32::from(self.across()),
            rows: cx.arg(&self.rows),
            n: cx.arg(&self.space.n),
            inner: cx.arg(&self.space.inner),
            runs: cx.arg(&self.runs),
            before: before.map_or_else(|| x_bound.unread(), |before| step.read(1, before)),
            x: x_bound,
            y: step.write(y),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let (call, dtype) = (call.into_call(), x.view.dtype);
        let pair = u32::from(dtype.arena_bytes() == 8);
        let call = match dtype.is_float() {
            true => call,
            false => call.of(&ScanWords::DECL, ScanWords::plain).constant("pair", pair),
        };
        step.dispatch_node(cx, id, call, &groups)
    }
}
