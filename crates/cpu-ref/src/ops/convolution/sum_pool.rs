//! `SumPool`.

use super::pool::covered;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::SumPool;

impl Eval for SumPool {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, sums(self, cx, |v| v))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, self.kernel.iter().fold(1, |n, k| n.saturating_mul(*k)))
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        sums(self, cx, f64::abs)
    }
}

/// Σ f(x) under every window, unrounded.
fn sums(op: &SumPool, cx: &EvalCx<'_>, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let windows = op.windows(cx.out().1.len() - 2).expect("inference has accepted the lists");
    let x = cx.arg(0).as_floats();
    covered(cx, &windows).map(|at| at.map(|i| f(x[i])).sum()).collect()
}
