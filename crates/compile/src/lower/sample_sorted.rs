//! One draw of each row: one step.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::SampleSorted;
use pumice_plan::kernel::{ArgValue, Bound};
use pumice_plan::kernels::choice::SampleSorted as Kernel;

/// Operands before the options, and the one that is bound for those that are not there.
const ROWS: usize = 5;
const U: usize = 4;
/// All of them.
const OPERANDS: usize = ROWS + 4;

impl Lower for SampleSorted {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let draw = Draw::of(cx, id)?;
        if draw.results[0].is_empty() {
            return Ok(());
        }
        cx.fits_u32(&(&draw.weights().shape[0] * &draw.weights().shape[1]), "the weights")?;
        draw.emit(cx, id)
    }
}

struct Draw {
    operands: Vec<Option<PlacedView>>,
    /// Which, and the logarithm of its probability.
    results: [PlacedView; 2],
}

impl Draw {
    fn of(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult<Draw> {
        let node = cx.graph.node(id);
        let operands = (0..OPERANDS).map(|k| node.input(k).map(|v| cx.dense(v)).transpose());
        let operands: Vec<Option<PlacedView>> = operands.collect::<LowerResult<_>>()?;
        if operands[..ROWS].contains(&None) {
            return Err("it lacks an operand".into());
        }
        let results = [cx.result(node.outputs[0])?, cx.result(node.outputs[1])?];
        Ok(Draw { operands, results })
    }

    fn weights(&self) -> &pumice_plan::View {
        &self.operands[0].as_ref().expect("looked at").view
    }

    /// A bit for each option that is so.
    fn options(&self, is: fn(&PlacedView) -> bool) -> u32 {
        let options = self.operands[ROWS..].iter().enumerate();
        options.map(|(k, at)| u32::from(at.as_ref().is_some_and(is)) << k).sum()
    }

    /// The kernel's operands: numbers of rows stand for options that are not there.
    fn bind(&self, step: &mut StepBuilder) -> LowerResult<[Bound; OPERANDS]> {
        let mut bound: Vec<Option<Bound>> = Vec::with_capacity(OPERANDS);
        for (k, at) in self.operands.iter().enumerate() {
            bound.push(at.as_ref().map(|at| step.read(k, at)));
        }
        let u = bound[U].as_ref().ok_or("it has no numbers")?.unread();
        Ok(std::array::from_fn(|k| bound[k].take().unwrap_or_else(|| u.clone())))
    }

    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let [rows, n] = [0, 1].map(|axis| self.weights().shape[axis].clone());
        let number = cx.status_number();
        let mut step = StepBuilder::new();
        let [weights, sums, ids, invalid, u, temperature, top_k, top_p, min_p] = self.bind(&mut step)?;
        let [of_id, logprob] = self.results.each_ref().map(|at| step.write(at));
        let call = Kernel {
            variant: Kernel::plain,
            options: self.options(|_| true),
            by_row: self.options(|at| at.view.shape.len() == 1),
            rows: cx.arg(&rows),
            n: cx.arg(&n),
            op: ArgValue::U32(number),
            weights,
            sums,
            ids,
            invalid,
            u,
            temperature,
            top_k,
            top_p,
            min_p,
            id: of_id,
            logprob,
            status: step.status(cx, number),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(cx, id, call.into_call(), &rows)
    }
}
