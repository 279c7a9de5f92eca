//! `Range`: one step of the kernel that counts.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::Range;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::copy::{FILLED, Fill, filled};
use pumice_types::DType;

impl Lower for Range {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let y = cx.result(cx.graph.node(id).output())?;
        let n = y.view.shape[0].clone();
        if n.is(0) {
            return Ok(());
        }
        cx.fits_u32(&n, "the range")?;
        // A start that symbols decide has 32 bits and is not negative.
        let high = |value: i64| ArgValue::U32((value >> 32) as u32);
        let mut step = StepBuilder::new();
        let call = Fill {
            variant: Fill::plain,
            kind: if self.dtype == DType::I64 { filled::WIDE } else { filled::WORDS },
            n: cx.arg(&n),
            start_lo: cx.arg(&self.start),
            start_hi: high(cx.fixed(&self.start).unwrap_or(0)),
            delta_lo: ArgValue::U32(self.delta as u32),
            delta_hi: high(self.delta),
            y: step.write(&y),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(cx, id, call.into_call(), &n.ceil_div(&FILLED.into()))
    }
}
