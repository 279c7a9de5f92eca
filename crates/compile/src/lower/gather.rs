//! Gather along one axis: embedding tables, index selection.

use super::LowerResult;
use super::in_place::{self, Reads};
use crate::codes::{self, Scales};
use crate::cx::LowerCx;
use crate::hole;
use crate::meaning::{self, StepMeaning};
use crate::rows::Rows;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::shape::product;
use pumice_ir::{GraphBuilder, NodeId, ValueId, ValueType};
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder};
use pumice_plan::kernels::gather::{Gather, GatherCodes, GatherWords};
use pumice_types::DimExpr;

/// Lowers a gather of `data` by `idx` along an axis.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId, axis: i64) -> LowerResult {
    let node = cx.graph.node(id);
    let (data, idx) = (node.input(0).ok_or("it has no data")?, node.input(1).ok_or("it has no indices")?);
    let stored = cx.stored(data)?;
    if cx.is_all_codes(&stored) {
        return of_codes(cx, id, (&codes::seen(&stored), idx), axis);
    }
    let float = cx.graph.ty(data).dtype().is_float();
    let table = if float { cx.dense_stored(data)? } else { cx.dense(data)? };
    let idx = cx.dense(idx)?;
    let y = in_place::result(cx, id, Reads { own: &[], shared: &[&table, &idx] })?;
    if y.is_empty() {
        return Ok(());
    }
    let rows = Picked::of(cx, (&table, &y), &idx, axis)?;
    let mut step = StepBuilder::new();
    let operands = [step.read(0, &table), step.read(1, &idx), step.write(&y), step.status(cx, rows.number)];
    let (call, per_row) = if float { rows.floats(cx, operands) } else { rows.words(cx, operands) };
    step.dispatch_node(cx, id, call, &(rows.outer * rows.count * per_row).ceil_div(&DimExpr::constant(256)))
}

/// Lowers a gather of values of codes, which are read where they lie.
fn of_codes(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    (table, idx): (&PlacedView, ValueId),
    axis: i64,
) -> LowerResult {
    let scales = cx.scales_of(table).ok_or("its codes have no scales")?;
    let (idx, y) = (cx.dense(idx)?, cx.result(cx.graph.node(id).output())?);
    if y.is_empty() {
        return Ok(());
    }
    let rows = Picked::of(cx, (table, &y), &idx, axis)?;
    let meaning = meaning_over(cx, id, &scales, table)?;
    let mut step = StepBuilder::new();
    let codes = step.read(0, table);
    let operands = [codes.clone(), step.read(1, &idx), step.write(&y), step.status(cx, rows.number)];
    let (call, per_row) = rows.floats(cx, operands);
    let call = call.of(&GatherCodes::DECL, GatherCodes::plain);
    let call = scales.of_operand(cx, &mut step, call, (&codes, &table.view));
    let grid = cx.grid(&(rows.outer * rows.count * per_row).ceil_div(&DimExpr::constant(256)))?;
    step.dispatch(cx, call, grid, meaning)
}

/// What a node computes whose operand 0 is codes.
fn meaning_over(cx: &LowerCx<'_>, id: NodeId, scales: &Scales, q: &PlacedView) -> LowerResult<StepMeaning> {
    let first = meaning::operand(0);
    let value = |g: &GraphBuilder, name: &str, own: &ValueType| match *name == *first {
        true => scales.meant(g, name, &q.view),
        false => g.input(name, own.clone()),
    };
    hole::meaning_over(cx, id, &value)
}

/// Rows of a table \[outer, axis, inner\], `count` of them picked along its axis.
struct Picked {
    outer: DimExpr,
    axis: DimExpr,
    inner: DimExpr,
    count: DimExpr,
    /// Whether indices have 64 bits.
    wide: bool,
    /// The op in the status block.
    number: u32,
}

impl Picked {
    fn of(
        cx: &mut LowerCx<'_>,
        (table, y): (&PlacedView, &PlacedView),
        idx: &PlacedView,
        axis: i64,
    ) -> LowerResult<Picked> {
        cx.fits_u32(&product(&table.view.shape), "the table")?;
        cx.fits_u32(&product(&y.view.shape), "the result")?;
        let axis = table.axis(axis)?;
        let space = Rows::of(&table.view.shape, axis..axis + 1);
        let words = table.words_of_element();
        Ok(Picked {
            outer: space.outer,
            axis: space.n,
            inner: space.inner * words,
            count: product(&idx.view.shape),
            wide: idx.view.dtype.arena_bytes() == 8,
            number: cx.status_number(),
        })
    }

    /// The call for rows of floats, as they are stored, and the threads of a row.
    fn floats(&self, cx: &mut LowerCx<'_>, operands: [Bound; 4]) -> (CallBuilder, DimExpr) {
        let vec = cx.by_four(&self.inner);
        let (call, _) = self.words(cx, operands);
        let call = call.of(&Gather::DECL, Gather::plain).constant("vec", vec.into()).constant("slot_cols", 0);
        (call, self.inner.ceil_div(&DimExpr::constant(4)))
    }

    /// The call for rows of words, and the threads of a row.
    fn words(&self, cx: &mut LowerCx<'_>, [table, idx, y, status]: [Bound; 4]) -> (CallBuilder, DimExpr) {
        let call = GatherWords {
            variant: GatherWords::plain,
            wide: u32::from(self.wide),
            outer: cx.arg(&self.outer),
            axis: cx.arg(&self.axis),
            inner: cx.arg(&self.inner),
            count: cx.arg(&self.count),
            op: ArgValue::U32(self.number),
            table,
            idx,
            y,
            status,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        (call.into_call(), self.inner.clone())
    }
}
