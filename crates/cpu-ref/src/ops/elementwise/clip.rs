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
        Tolerance::ulps(cx.out().0, 0.5)
    }
}
