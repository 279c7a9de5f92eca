//! Updates whose places are in order.

use super::Lower;
use super::scatter::{mode_of, of_words, reduces_floats};
use crate::cx::{LowerCx, LowerResult};
use crate::rows::rounding;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::ScatterSorted;
use pumice_ir::shape::product;
use pumice_plan::kernel::CallBuilder;
use pumice_plan::kernels::scatter::{ScatterSortedFloats, ScatterSortedWords};

impl Lower for ScatterSorted {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let mut operands = Vec::new();
        for value in node.inputs.iter().flatten() {
            operands.push(cx.dense(*value)?);
        }
        let [data, places, order, updates, partials @ ..] = &operands[..] else {
            return Err("an operand is missing".into());
        };
        let y = cx.result(node.output())?;
        if y.is_empty() {
            return Ok(());
        }
        let elements = product(&y.view.shape);
        cx.fits_u32(&elements, "the result")?;
        cx.fits_u32(&product(&updates.view.shape), "the updates")?;
        let mut step = StepBuilder::new();
        let call = Sorted { data, places, order, updates, partials, y: &y }.call(self, cx, &mut step)?;
        step.dispatch_node(cx, id, call, &elements.ceil_div(&256.into()))
    }
}

/// Operands and result.
struct Sorted<'a> {
    data: &'a PlacedView,
    places: &'a PlacedView,
    order: &'a PlacedView,
    updates: &'a PlacedView,
    /// None, those of 128 updates, or those of 128 of these, too.
    partials: &'a [PlacedView],
    y: &'a PlacedView,
}

impl Sorted<'_> {
    fn call(
        &self,
        op: &ScatterSorted,
        cx: &mut LowerCx<'_>,
        step: &mut StepBuilder,
    ) -> LowerResult<CallBuilder> {
        let dtype = self.data.view.dtype;
        let floats = reduces_floats(dtype, op.reduction);
        let updates = step.read(3, self.updates);
        let [first, second] = [0, 1].map(|i| match self.partials.get(i) {
            Some(at) => step.read(4 + i, at),
            None => updates.unread(),
        });
        let call = ScatterSortedFloats {
            variant: ScatterSortedFloats::plain,
            mode: mode_of(op.reduction),
            partials: self.partials.len() as u32,
            n: cx.arg(&product(&self.y.view.shape)),
            count: cx.arg(&self.updates.view.shape[0]),
            inner: cx.arg(&self.data.view.shape[1]),
            data: step.read(0, self.data),
            places: step.read(1, self.places),
            order: step.read(2, self.order),
            updates,
            first,
            second,
            y: step.write(self.y),
            slots: Vec::new(),
            holes: if floats { rounding(dtype, "epilogue")? } else { Vec::new() },
        };
        let call = call.into_call();
        Ok(match floats {
            true => call,
            false => of_words(call.of(&ScatterSortedWords::DECL, ScatterSortedWords::plain), dtype),
        })
    }
}
