//! The numbers of a chirp: one step that reads nothing.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::FftChirp;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::transform::{CHIRPS, FftChirp as Chirp};
use pumice_types::DimExpr;

impl Lower for FftChirp {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let y = cx.result(cx.graph.node(id).output())?;
        if y.is_empty() {
            return Ok(());
        }
        let mut step = StepBuilder::new();
        let call = Chirp {
            variant: Chirp::plain,
            inverse: u32::from(self.inverse),
            wrapped: u32::from(self.wrapped),
            n: ArgValue::U32(self.extent as u32),
            period: ArgValue::U32(self.length as u32),
            y: step.write(&y),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let groups = DimExpr::from((self.extent as u64).div_ceil(CHIRPS));
        step.dispatch_node(cx, id, call.into_call(), &groups)
    }
}
