//! `Clip`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{int_lt, map, max, min};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Clip;
use pumice_types::DType;

impl Eval for Clip {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let bounds = [1, 2].map(|i| cx.opt(i));
        let [lo, hi] = bounds.map(|b| b.and_then(|b| b.as_floats().first().copied()));
        let [int_lo, int_hi] = bounds.map(|b| b.and_then(|b| b.as_ints().first().copied()));
        let float = |x: f64| {
            let raised = lo.map_or(x, |lo| max(x, lo));
            hi.map_or(raised, |hi| min(hi, raised))
        };
        let int = |d: DType, x: i64| {
            let raised = int_lo.map_or(x, |lo| if int_lt(d, x, lo) { lo } else { x });
            int_hi.map_or(raised, |hi| if int_lt(d, hi, raised) { hi } else { raised })
        };
        map(cx, float, int)
    }

    /// Exact but for the sign of zero.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::chosen(cx.out().0)
    }

    /// By x inside, both ends among it; by a bound outside.
    fn gradient(&self, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let [value, lo, hi] = [0, 1, 2].map(|i| x.get(i).copied().flatten());
        let value = value?;
        let below = lo.is_some_and(|lo| value < lo);
        let raised = if below { lo? } else { value };
        let above = hi.is_some_and(|hi| raised > hi);
        let counts = match by {
            0 => !below && !above,
            1 => below && !above,
            _ => above,
        };
        Some(if counts { dy } else { 0.0 })
    }
}
