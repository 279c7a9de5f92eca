//! Cells that are taken from step to step: one dispatch for all steps.

use super::Lower;
use super::linear_recurrence::{bind_operands, optional_operands};
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::RecurrentLayer;
use pumice_ir::shape::product;
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder};
use pumice_plan::kernels::recurrence::{MOST_HIDDEN, RecurrentLayer as Kernel};
use pumice_types::{DimExpr, Precision, Target};

impl Lower for RecurrentLayer {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let r = node.input(1).ok_or("it has no weights")?;
        let hidden = cx.graph.ty(r).shape[0].as_extent().ok_or("its hidden units are symbolic")?;
        if hidden > MOST_HIDDEN {
            let reason = "more need a constant number of steps, from 1 to 16384";
            return Err(format!("{hidden} hidden units: one group holds {MOST_HIDDEN}; {reason}").into());
        }
        let operands = optional_operands(cx, id, 7)?;
        let mut results = Vec::with_capacity(3);
        for &v in &node.outputs {
            results.push(cx.result(v)?);
        }
        if results.iter().skip(1).any(PlacedView::is_empty) {
            return Ok(());
        }
        Layer { op: self, operands: &operands, results: &results, hidden }.emit(cx, id)
    }
}

/// The least variant that holds the weights; `plain` reads them in each step.
fn variant(hidden: u64, cx: &LowerCx<'_>) -> &'static str {
    let target = cx.target;
    if !cx.selection.large_groups.keeps(hidden, target) {
        return Kernel::plain;
    }
    let holds = |name: &&str| Kernel::holds(name, hidden) && runs(name, target);
    Kernel::KEPT.into_iter().find(holds).unwrap_or(Kernel::plain)
}

fn runs(name: &str, target: &Target) -> bool {
    Kernel::DECL.variant(name).is_some_and(|variant| variant.runs_on(target))
}

/// Operands that are there, and results.
struct Layer<'a> {
    op: &'a RecurrentLayer,
    operands: &'a [Option<PlacedView>],
    results: &'a [PlacedView],
    hidden: u64,
}

impl Layer<'_> {
    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let mut step = StepBuilder::new();
        let mut bound = bind_operands(&mut step, self.operands)?;
        bound.extend(self.results.iter().map(|at| step.write(at)));
        let xw = self.operands[0].as_ref().ok_or("it has no operand")?;
        let width = DimExpr::from(2 * self.hidden);
        step.flops(product(&xw.view.shape) * width, Precision::Exact);
        let batches = xw.view.shape[1].clone();
        let call = self.call(cx, &xw.view.shape, bound)?;
        step.dispatch_node(cx, id, call, &batches)
    }

    fn call(&self, cx: &mut LowerCx<'_>, shape: &[DimExpr], bound: Vec<Bound>) -> LowerResult<CallBuilder> {
        let bound: [Bound; 10] = bound.try_into().map_err(|_| "it has other operands")?;
        let [xw, r, rb, p, lens, h0, c0, y, last_h, last_c] = bound;
        let (op, is) = (self.op, |i: usize| u32::from(self.operands[i].is_some()));
        let [f, g, h] = [&op.f, &op.g, &op.h].map(|act| act.number());
        let call = Kernel {
            variant: variant(self.hidden, cx),
            cell: op.cell.number(),
            reverse: u32::from(op.reverse),
            after: u32::from(op.linear_before_reset),
            coupled: u32::from(op.input_forget),
            act_f: f,
            act_g: g,
            act_h: h,
            clips: u32::from(op.clip.is_some()),
            biased: is(2),
            peepholes: is(3),
            lengths: is(4),
            given: is(5) + 2 * is(6),
            steps: cx.arg(&shape[0]),
            batches: cx.arg(&shape[1]),
            hidden: cx.arg(&self.hidden.into()),
            from: ArgValue::U32(if is(4) == 1 { op.from as u32 } else { 0 }),
            clip: ArgValue::f32(op.clip.unwrap_or(0.0)),
            alpha_f: ArgValue::f32(op.alpha_f),
            beta_f: ArgValue::f32(op.beta_f),
            alpha_g: ArgValue::f32(op.alpha_g),
            beta_g: ArgValue::f32(op.beta_g),
            alpha_h: ArgValue::f32(op.alpha_h),
            beta_h: ArgValue::f32(op.beta_h),
            xw,
            r,
            rb,
            p,
            lens,
            h0,
            c0,
            y,
            last_h,
            last_c,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        Ok(call.into_call())
    }
}
