//! Places of an axis in order, run by run: which kernel, and how many places its groups take.

use super::Lower;
use super::arg_reduce::key_kind;
use crate::cx::{LowerCx, LowerResult};
use crate::rows::Rows;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::ArgSortRuns;
use pumice_plan::kernel::{ArgValue, CallBuilder};
use pumice_plan::kernels::sort::{SortMerge, SortRuns, SortSelect, TILE};
use pumice_types::{DType, DimExpr};

impl Lower for ArgSortRuns {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
        let order = node.input(1).map(|order| cx.dense(order)).transpose()?;
        let y = cx.result(node.output())?;
        let axis = x.axis(self.axis)?;
        if y.is_empty() {
            return Ok(());
        }
        Sort::of(self, cx, axis, (&x, order.as_ref(), &y)).emit(self, cx, id, (&x, order.as_ref(), &y))
    }
}

/// What is put in order.
struct Sort {
    /// x as \[outer, n, inner\].
    space: Rows,
    rows: DimExpr,
    /// Places of a row, and those of its result.
    m: DimExpr,
    len: DimExpr,
    /// Places of a run, a power of two.
    run: u64,
    runs: DimExpr,
    keep: DimExpr,
}

/// Short rows share a group, so that of so many places a run has as few as they fit in.
fn places_of_run(op: &ArgSortRuns, places: u64) -> u64 {
    match op.sorted {
        0 => places.max(1).next_power_of_two().min(op.run as u64),
        _ => op.run as u64,
    }
}

/// Many threads where each then has some of a run.
fn selecting(run: u64, cx: &LowerCx<'_>) -> &'static str {
    let fast = SortSelect::DECL.variant(SortSelect::fast).is_some_and(|variant| variant.runs_on(cx.target));
    if fast && cx.selection.large_groups.selects(run, cx.target) {
        SortSelect::fast
    } else {
        SortSelect::plain
    }
}

type Operands<'a> = (&'a PlacedView, Option<&'a PlacedView>, &'a PlacedView);

impl Sort {
    fn of(op: &ArgSortRuns, cx: &LowerCx<'_>, axis: usize, (x, order, y): Operands<'_>) -> Sort {
        let space = Rows::of(&x.view.shape, axis..axis + 1);
        let m = order.map_or_else(|| space.n.clone(), |order| order.view.shape[axis].clone());
        let upper = |d: &DimExpr| d.upper(cx.graph.symbols());
        let run = places_of_run(op, upper(&m).max(op.keep.as_ref().map_or(0, upper)));
        let one_run = op.whole || op.keep.is_none() && upper(&m) <= run;
        let runs = if one_run { DimExpr::constant(1) } else { m.ceil_div(&run.into()) };
        // Of one run no more than there is: short axes of wide symbols take few groups.
        let keep = op.keep.clone().unwrap_or_else(|| m.min_with(&run.into()));
        let rows = &space.outer * &space.inner;
        Sort { rows, m, len: y.view.shape[axis].clone(), run, runs, keep, space }
    }

    fn emit(
        &self,
        op: &ArgSortRuns,
        cx: &mut LowerCx<'_>,
        id: NodeId,
        (x, order, y): Operands<'_>,
    ) -> LowerResult {
        let groups = self.groups(op, cx)?;
        let mut step = StepBuilder::new();
        let x_bound = step.read(0, x);
        let order_bound = order.map_or_else(|| x_bound.unread(), |order| step.read(1, order));
        let call = self
            .kernel(op, cx, order.is_some())
            .constant("kind", key_kind(x.view.dtype))
            .constant("down", u32::from(op.largest))
            .constant("wide", u32::from(y.view.dtype == DType::I64))
            .operand("x", x_bound)
            .operand("order", order_bound)
            .operand("y", step.write(y));
        let call = self.extents(cx, call);
        step.dispatch_node(cx, id, call, &groups)
    }

    /// The kernel and what it has beside the others.
    fn kernel(&self, op: &ArgSortRuns, cx: &LowerCx<'_>, given: bool) -> CallBuilder {
        if op.sorted != 0 {
            let sorted = ArgValue::U32(op.sorted as u32);
            return CallBuilder::new(&SortMerge::DECL, SortMerge::plain).own("sorted", sorted);
        }
        let call = if self.selects(op) {
            let most = self.keep.upper(cx.graph.symbols()).max(1).next_power_of_two();
            CallBuilder::new(&SortSelect::DECL, selecting(self.run, cx))
                .own("run", ArgValue::U32(self.run as u32))
                .constant("levels", most.ilog2())
        } else {
            CallBuilder::new(&SortRuns::DECL, SortRuns::plain).constant("levels", self.run.ilog2())
        };
        call.constant("given", u32::from(given))
    }

    /// Whether some are chosen from more than a group puts in order.
    fn selects(&self, op: &ArgSortRuns) -> bool {
        op.sorted == 0 && self.run > TILE
    }

    /// How many work, where kernels can count all elements.
    fn groups(&self, op: &ArgSortRuns, cx: &LowerCx<'_>) -> LowerResult<DimExpr> {
        let (tile, runs) = (DimExpr::from(TILE), &self.rows * &self.runs);
        let slots = &runs * &DimExpr::from(self.run);
        cx.fits_u32(&(&self.rows * &self.space.n), "the operand")?;
        cx.fits_u32(&(&self.rows * &self.len), "the result")?;
        if self.selects(op) {
            return Ok(runs);
        }
        cx.fits_u32(&slots, "the places with what fills runs up")?;
        Ok(match op.sorted {
            0 => slots.ceil_div(&tile),
            _ => runs * self.keep.ceil_div(&tile),
        })
    }

    /// The arguments that both kernels have.
    fn extents(&self, cx: &mut LowerCx<'_>, call: CallBuilder) -> CallBuilder {
        call.own("rows", cx.arg(&self.rows))
            .own("n", cx.arg(&self.space.n))
            .own("m", cx.arg(&self.m))
            .own("inner", cx.arg(&self.space.inner))
            .own("runs", cx.arg(&self.runs))
            .own("keep", cx.arg(&self.keep))
            .own("len", cx.arg(&self.len))
    }
}
