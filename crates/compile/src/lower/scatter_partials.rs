//! Updates of one place reduced 128 at a time.

use super::Lower;
use super::scatter::{mode_of, of_words, reduces_floats};
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::ScatterPartials;
use pumice_ir::shape::product;
use pumice_plan::kernel::{ArgValue, CallBuilder};
use pumice_plan::kernels::scatter::{ScatterPartialFloats, ScatterPartialWords};

impl Lower for ScatterPartials {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let places = cx.dense(node.input(0).ok_or("it has no places")?)?;
        let rows = cx.dense(node.input(1).ok_or("it has no rows")?)?;
        let order = node.input(2).map(|order| cx.dense(order)).transpose()?;
        let y = cx.result(node.output())?;
        if y.is_empty() {
            return Ok(());
        }
        cx.fits_u32(&product(&rows.view.shape), "the rows")?;
        let mut step = StepBuilder::new();
        let call = call(self, cx, &mut step, [&places, &rows, &y], order.as_ref())?;
        step.dispatch_node(cx, id, call, &product(&y.view.shape).ceil_div(&256.into()))
    }
}

/// The call for places, rows and y, and the order of the rows.
fn call(
    op: &ScatterPartials,
    cx: &mut LowerCx<'_>,
    step: &mut StepBuilder,
    [places, rows, y]: [&PlacedView; 3],
    order: Option<&PlacedView>,
) -> LowerResult<CallBuilder> {
    let span = u32::try_from(op.span).map_err(|_| "its rows have more than 2^32 places")?;
    let rows_bound = step.read(1, rows);
    let call = ScatterPartialFloats {
        variant: ScatterPartialFloats::plain,
        mode: mode_of(op.reduction),
        given: u32::from(order.is_some()),
        n: cx.arg(&places.view.shape[0]),
        count: cx.arg(&rows.view.shape[0]),
        inner: cx.arg(&rows.view.shape[1]),
        span: ArgValue::U32(span),
        places: step.read(0, places),
        order: order.map_or_else(|| rows_bound.unread(), |order| step.read(2, order)),
        rows: rows_bound,
        y: step.write(y),
        slots: Vec::new(),
        holes: Vec::new(),
    };
    let (call, dtype) = (call.into_call(), rows.view.dtype);
    Ok(match reduces_floats(dtype, op.reduction) {
        true => call,
        false => of_words(call.of(&ScatterPartialWords::DECL, ScatterPartialWords::plain), dtype),
    })
}
