//! Which rows go to which expert: one step.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::ExpertRows;
use pumice_ir::shape::product;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::experts::ExpertRows as Kernel;
use pumice_types::DimExpr;

impl Lower for ExpertRows {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let ids = cx.dense(node.input(0).ok_or("it has no ids")?)?;
        let rows = cx.result(node.output())?;
        cx.fits_u32(&product(&rows.view.shape), "the result")?;
        let mut step = StepBuilder::new();
        let call = Kernel {
            variant: Kernel::plain,
            count: cx.arg(&product(&ids.view.shape)),
            experts: ArgValue::U32(self.experts as u32),
            id: step.read(0, &ids),
            rows: step.write(&rows),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(cx, id, call.into_call(), &DimExpr::from(self.experts + 1))
    }
}
