//! `Softmax`, and the statistics of a row that `LogSoftmax` shares.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{around, axis_of};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Softmax;

impl Eval for Softmax {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        vec![Array::floats(x.dtype, &x.shape, rows(x, self.axis, |row, x| (x - row.max).exp() / row.sum))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        row_tolerance(cx, self.axis)
    }

    /// y·(1 + t/16), t = m − x. With u = 2⁻²⁴ the relative error of y is at most: t·u from rounding x − m (the
    /// exponential turns an absolute error into a relative one), 8u from the exponential (4 ULP), (⌈log₂K⌉ + ln K)·u
    /// from the sum (Σ tⱼpⱼ ≤ ln K is the mean of the terms' own errors), 5u from the division. The class gives
    /// 4(⌈log₂K⌉ + 4)·u ≥ 16u + 4⌈log₂K⌉·u of the magnitude.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        rows(cx.arg(0), self.axis, |row, x| {
            let t = row.max - x;
            ((-t).exp() / row.sum) * (1.0 + t.min(200.0) / 16.0)
        })
    }
}

/// Maximum m of a row, and Σ e^{x − m}.
pub struct Row {
    /// The maximum, NaN left out: a NaN makes the sum NaN.
    pub max: f64,
    /// The sum.
    pub sum: f64,
}

/// The class of sums over a row.
pub fn row_tolerance(cx: &EvalCx<'_>, axis: i64) -> Tolerance {
    let x = cx.arg(0);
    Tolerance::sum(x.dtype, x.shape[axis_of(axis, x.shape.len())])
}

/// One value per element from its row along the axis, not rounded.
pub fn rows(x: &Array, axis: i64, f: impl Fn(&Row, f64) -> f64) -> Vec<f64> {
    let (outer, n, inner) = around(&x.shape, axis_of(axis, x.shape.len()));
    let v = x.as_floats();
    let mut y = vec![0.0; v.len()];
    for o in 0..outer {
        for i in 0..inner {
            let at = |j: usize| (o * n + j) * inner + i;
            let max = (0..n).map(|j| v[at(j)]).fold(f64::NEG_INFINITY, f64::max);
            let sum = (0..n).map(|j| (v[at(j)] - max).exp()).sum();
            let row = Row { max, sum };
            (0..n).for_each(|j| y[at(j)] = f(&row, v[at(j)]));
        }
    }
    y
}
