//! `FoundCount`.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::FoundCount;
use pumice_plan::kernel::{ArgValue, CallBuilder};
use pumice_plan::kernels::count::FoundCount as Kernel;

impl Lower for FoundCount {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let count = cx.dense(node.input(0).ok_or("it has no count")?)?;
        let y = cx.result(node.output())?;
        let mut step = StepBuilder::new();
        let call = reported(cx, &mut step, (&count, self.largest as u32), &y);
        step.dispatch_node(cx, id, call, &1u64.into())
    }
}

/// The call that writes a count, held between 0 and the largest, and reports one that is not.
pub(super) fn reported(
    cx: &mut LowerCx<'_>,
    step: &mut StepBuilder,
    (count, largest): (&PlacedView, u32),
    y: &PlacedView,
) -> CallBuilder {
    let number = cx.status_number();
    let call = Kernel {
        variant: Kernel::plain,
        wide: u32::from(count.view.dtype.arena_bytes() == 8),
        largest: ArgValue::U32(largest),
        op: ArgValue::U32(number),
        count: step.read(0, count),
        y: step.write(y),
        status: step.status(cx, number),
        slots: Vec::new(),
        holes: Vec::new(),
    };
    call.into_call()
}
