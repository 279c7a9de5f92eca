//! `BatchNorm`.

use super::layer_norm::inverse;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::around;
use crate::tolerance::Tolerance;
use pumice_ir::ops::BatchNorm;

impl Eval for BatchNorm {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, mapped(self, cx, |x, s, beta, mean| x * s + (beta - mean * s)))]
    }

    /// Three terms, of which each has a factor that is itself rounded a few times.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, 3)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        mapped(self, cx, |x, s, beta, mean| (x * s).abs() + beta.abs() + (mean * s).abs())
    }
}

/// f(x, s, β, μ) of every element and its channel's numbers, unrounded.
fn mapped(op: &BatchNorm, cx: &EvalCx<'_>, f: impl Fn(f64, f64, f64, f64) -> f64) -> Vec<f64> {
    let [x, gamma, beta, mean, variance] = [0, 1, 2, 3, 4].map(|i| cx.arg(i).as_floats());
    let (_, channels, inner) = around(&cx.arg(0).shape, 1);
    let value = |(i, &x): (usize, &f64)| {
        let c = i / inner % channels;
        f(x, gamma[c] * inverse(variance[c], op.epsilon), beta[c], mean[c])
    };
    x.iter().enumerate().map(value).collect()
}
