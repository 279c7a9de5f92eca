//! The parts of an attention as one result.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::AttentionMerge;
use pumice_ir::shape::product;
use pumice_plan::kernels::attention::AttentionMerge as Call;

impl Lower for AttentionMerge {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
        let y = cx.result(node.output())?;
        if y.is_empty() {
            return Ok(());
        }
        cx.fits_u32(&product(&x.view.shape), "its operand")?;
        let axes = self.layout.axes();
        let width = y.view.shape[axes[3]].as_extent().filter(|n| n.is_multiple_of(4) && *n <= 256);
        let width = width.ok_or("a width of its result that is no multiple of four up to 256")?;
        let [batches, hq, sq, parts] = [0, 1, 2, 3].map(|i| x.view.shape[i].clone());
        let strides = [axes[0], axes[1], axes[2]].map(|a| y.view.strides[a].clone());
        let mut step = StepBuilder::new();
        let call = Call {
            variant: Call::plain,
            quads: (width / 4).next_power_of_two() as u32,
            batches: cx.arg(&batches),
            hq: cx.arg(&hq),
            sq: cx.arg(&sq),
            parts: cx.arg(&parts),
            dv: cx.arg(&width.into()),
            x: step.read(0, &x),
            y: step.write(&y).along(strides),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(cx, id, call.into_call(), &(batches * hq * sq))
    }
}
