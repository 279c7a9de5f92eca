//! `AveragePool`.

use super::pool::covered;
use super::walk::{Volume, taps_before, windows};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::AveragePool;
use pumice_types::WindowAxis;

impl Eval for AveragePool {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, means(self, cx, |v| v))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, self.kernel.iter().fold(1, |n, k| n.saturating_mul(*k)))
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        means(self, cx, f64::abs)
    }
}

/// Σ f(x) under every window over what counts there, unrounded.
fn means(op: &AveragePool, cx: &EvalCx<'_>, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let axes = op.windows(cx.out().1.len() - 2).expect("inference has accepted the lists");
    let x = cx.arg(0).as_floats();
    let counts: Vec<usize> = match op.count_include_pad {
        true => padded_counts(cx, &axes),
        false => covered(cx, &axes).map(Iterator::count).collect(),
    };
    let sums = covered(cx, &axes).map(|at| at.map(|i| f(x[i])).sum::<f64>());
    sums.zip(counts).map(|(sum, n)| sum / n as f64).collect()
}

/// The taps of each window that lie in the padded extents: those of a last window may lie after them.
fn padded_counts(cx: &EvalCx<'_>, axes: &[WindowAxis]) -> Vec<usize> {
    let (from, to) = (Volume::of(&cx.arg(0).shape), Volume::of(cx.out().1));
    let windows = windows(axes);
    let before = |position: [usize; 3]| {
        (0..3).map(move |i| taps_before(&windows[i], position[i], from.spatial[i] as u64 + windows[i].end))
    };
    let count = |(_, _, position)| before(position).fold(1, usize::saturating_mul);
    to.elements().map(count).collect()
}
