//! Experts of rows and their weights: one step.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::TopKMoeRouter;
use pumice_ir::ops::top_k_moe_router::RouterGate;
use pumice_ir::shape::product;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::choice::{MoeRouter, gate};

impl Lower for TopKMoeRouter {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let logits = cx.dense(node.input(0).ok_or("it has no logits")?)?;
        let bias = node.input(1).map(|v| cx.dense(v)).transpose()?;
        let results = [cx.result(node.outputs[0])?, cx.result(node.outputs[1])?];
        if results[0].is_empty() {
            return Ok(());
        }
        cx.fits_u32(&product(&logits.view.shape), "the logits")?;
        emit(self, cx, id, (&logits, bias.as_ref()), &results)
    }
}

fn gate_of(gate: RouterGate) -> u32 {
    match gate {
        RouterGate::Identity => gate::NONE,
        RouterGate::Softmax => gate::SOFTMAX,
        RouterGate::Sigmoid => gate::SIGMOID,
        RouterGate::SqrtSoftplus => gate::SQRT_SOFTPLUS,
    }
}

fn emit(
    op: &TopKMoeRouter,
    cx: &mut LowerCx<'_>,
    id: NodeId,
    (logits, bias): (&PlacedView, Option<&PlacedView>),
    [weights, experts]: &[PlacedView; 2],
) -> LowerResult {
    let [rows, of_row] = [0, 1].map(|axis| logits.view.shape[axis].clone());
    let mut step = StepBuilder::new();
    let bound = step.read(0, logits);
    let call = MoeRouter {
        variant: MoeRouter::plain,
        gate: gate_of(op.gate),
        after: u32::from(op.after),
        normed: u32::from(op.norm),
        biased: u32::from(bias.is_some()),
        rows: cx.arg(&rows),
        experts: cx.arg(&of_row),
        k: ArgValue::U32(op.k as u32),
        groups: ArgValue::U32(op.groups as u32),
        groups_kept: ArgValue::U32(op.groups_kept as u32),
        scale: ArgValue::f32(op.scale),
        bias: bias.map_or_else(|| bound.unread(), |bias| step.read(1, bias)),
        logits: bound,
        w: step.write(weights),
        ids: step.write(experts),
        slots: Vec::new(),
        holes: Vec::new(),
    };
    step.dispatch_node(cx, id, call.into_call(), &rows)
}
