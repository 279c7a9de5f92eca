//! States that are taken from step to step: one dispatch for all steps.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::LinearRecurrence;
use pumice_ir::shape::product;
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder};
use pumice_plan::kernels::recurrence::{LinearRecurrence as Kernel, decay};
use pumice_types::{DimExpr, Precision};

/// Keys that threads of a group keep at most.
const MOST_KEYS: u64 = 16 * 256;

impl Lower for LinearRecurrence {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let q = node.input(0).ok_or("it has no operand")?;
        let keys = cx.graph.ty(q).shape[3].as_extent().ok_or("its keys are symbolic")?;
        if keys > MOST_KEYS {
            return Err(format!("{keys} keys of a state: one group holds {MOST_KEYS}").into());
        }
        let operands = optional_operands(cx, id, 7)?;
        let results = [cx.result(node.outputs[0])?, cx.result(node.outputs[1])?];
        if results[1].is_empty() {
            return Ok(());
        }
        Recurrence { op: self, operands: &operands, results: &results, keys }.emit(cx, id)
    }
}

/// The dense operands of a node that are there, of so many.
pub(super) fn optional_operands(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    count: usize,
) -> LowerResult<Vec<Option<PlacedView>>> {
    let node = cx.graph.node(id);
    let mut operands = Vec::with_capacity(count);
    for i in 0..count {
        let at = node.input(i).map(|v| cx.dense(v)).transpose()?;
        if let Some(at) = &at {
            cx.fits_u32(&product(&at.view.shape), "an operand")?;
        }
        operands.push(at);
    }
    Ok(operands)
}

/// The operands; one that is not there is the first again.
pub(super) fn bind_operands(
    step: &mut StepBuilder,
    operands: &[Option<PlacedView>],
) -> LowerResult<Vec<Bound>> {
    let mut bound: Vec<Bound> = Vec::with_capacity(10);
    for (i, at) in operands.iter().enumerate() {
        let again = bound.first().map(Bound::unread);
        let binding = at.as_ref().map(|at| step.read(i, at)).or(again);
        bound.push(binding.ok_or("it has no operand")?);
    }
    Ok(bound)
}

/// Operands that are there, results, and how many keys a column of the state has.
struct Recurrence<'a> {
    op: &'a LinearRecurrence,
    operands: &'a [Option<PlacedView>],
    results: &'a [PlacedView; 2],
    keys: u64,
}

impl Recurrence<'_> {
    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        cx.fits_u32(&product(&self.results[0].view.shape), "the result")?;
        let mut step = StepBuilder::new();
        let bound = bind_operands(&mut step, self.operands)?;
        let [o, last] = self.results;
        let results = [step.write(o), step.write(last)];
        step.flops(product(&o.view.shape) * DimExpr::from(6 * self.keys), Precision::Exact);
        let (variant, kept) = self.variant();
        let lanes = self.keys.div_ceil(kept).next_power_of_two();
        let columns = &o.view.shape[0] * &o.view.shape[2] * &o.view.shape[3];
        let call = self.call(cx, (variant, lanes as u32), bound, results)?;
        step.dispatch_node(cx, id, call, &columns.ceil_div(&DimExpr::from(256 / lanes)))
    }

    /// The least that holds the keys.
    fn variant(&self) -> (&'static str, u64) {
        if self.keys <= 64 { (Kernel::plain, 4) } else { (Kernel::plain_16, 16) }
    }

    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        (variant, lanes): (&'static str, u32),
        bound: Vec<Bound>,
        [o, last]: [Bound; 2],
    ) -> LowerResult<CallBuilder> {
        let bound: [Bound; 7] = bound.try_into().map_err(|_| "it has other operands")?;
        let [q, k, v, decays, rates, beta, state] = bound;
        let extent = |i: usize, axis: usize| self.operands[i].as_ref().map(|at| at.view.shape[axis].clone());
        let mut arg = |i: usize, axis: usize| extent(i, axis).map_or(ArgValue::ZERO, |e| cx.arg(&e));
        let [batches, steps, hq, keys] = [0, 1, 2, 3].map(|axis| arg(0, axis));
        let (hk, hv, values) = (arg(1, 2), arg(2, 2), arg(2, 3));
        let heads = cx.arg(&self.results[0].view.shape[2]);
        let call = Kernel {
            variant,
            lanes,
            decays: self.decay(),
            delta: u32::from(self.op.delta),
            betas: self.beta(),
            given: u32::from(self.operands[6].is_some()),
            by_value: u32::from(self.op.by_value),
            batches,
            steps,
            heads,
            hq,
            hk,
            hv,
            keys,
            values,
            scale: ArgValue::f32(self.op.scale),
            q,
            k,
            v,
            decay: decays,
            rates,
            beta,
            state,
            o,
            last,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        Ok(call.into_call())
    }

    fn decay(&self) -> u32 {
        match (&self.operands[3], &self.operands[4]) {
            (None, _) => decay::NONE,
            (Some(_), Some(_)) => decay::RATES,
            (Some(at), None) if at.view.shape.len() == 4 => decay::KEY,
            (Some(_), None) => decay::HEAD,
        }
    }

    /// None, one for each head, one for all. An extent that a run makes the number of heads may be written otherwise.
    fn beta(&self) -> u32 {
        let Some(beta) = &self.operands[5] else { return 0 };
        let one_head = self.operands[2].as_ref().is_some_and(|v| v.view.shape[2].is(1));
        if beta.view.shape[2].is(1) && !one_head { 2 } else { 1 }
    }
}
