//! `MeanVarianceNormalization`.

use super::layer_norm::Stats;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::reduction::reduce::groups;
use crate::tolerance::Tolerance;
use pumice_ir::ops::MeanVarianceNormalization;

/// One value for each element from its statistics and itself; and how many elements share statistics.
fn normalized(
    op: &MeanVarianceNormalization,
    cx: &EvalCx<'_>,
    f: impl Fn(&Stats, f64) -> f64,
) -> (Vec<f64>, usize) {
    let x = cx.arg(0);
    let (values, groups) = (x.as_floats(), groups(x, &op.axes, false));
    let mut y = vec![0.0; values.len()];
    let n = groups.steps.len();
    for base in groups.bases.iter().filter(|_| n > 0) {
        let stats = Stats::of(n, groups.steps.iter().map(|step| values[base + step]));
        for step in &groups.steps {
            y[base + step] = f(&stats, values[base + step]);
        }
    }
    (y, n)
}

/// What a difference to the mean is divided by.
fn divisor(stats: &Stats) -> f64 {
    stats.variance.sqrt() + 1e-9
}

impl Eval for MeanVarianceNormalization {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let (y, _) = normalized(self, cx, |stats, x| (x - stats.mean) / divisor(stats));
        vec![Array::floats(dtype, shape, y)]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let (_, n) = normalized(self, cx, |_, x| x);
        Tolerance::sum(cx.out().0, n as u64)
    }

    /// As that of a layer norm.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let size = |stats: &Stats, x: f64| (stats.mean_abs + (x - stats.mean).abs()) / divisor(stats);
        normalized(self, cx, size).0
    }
}
