//! `LayerNorm`, and the rows that `RmsNorm` shares.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{axis_of, count, expand};
use crate::tolerance::Tolerance;
use pumice_ir::ops::LayerNorm;
use std::borrow::Cow;

impl Eval for LayerNorm {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let y = normalized(cx, self.axis, |row, x, gamma, beta| {
            (x - row.mean) * inverse(row.variance, self.epsilon) * gamma + beta
        });
        with_statistics(y, cx, self.axis, &[&|row| row.mean, &|row| inverse(row.variance, self.epsilon)])
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        row_tolerance(cx, self.axis)
    }

    /// |γ|/√(σ² + ε)·(mean|x| + |x − μ|) + |β|. The mean is a sum of K terms, off by δ = 4(⌈log₂K⌉ + 4)·2⁻²⁴·mean|x| at
    /// most, and moves every difference by δ; the variance is taken about that mean, so its own relative error is that
    /// of a sum of squares plus δ²/σ², of second order; the root halves it. Where |μ| ≫ σ the first term dominates: x −
    /// μ has lost those digits in f32, whatever the kernel.
    /// The inverse deviation is off by the share that σ² + ε is off by.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        match cx.result {
            0 => {}
            1 => return of_rows(cx, self.axis, |row| row.mean_abs),
            _ => {
                let share = Tolerance::of_sum(row_length(cx, self.axis) as u64);
                return of_rows(cx, self.axis, |row| {
                    let spread = row.variance + (row.mean_abs * share).powi(2);
                    inverse_size(row.variance, spread, self.epsilon)
                });
            }
        }
        magnitudes(cx, self.axis, |row, x, gamma, beta| {
            gamma.abs() * inverse(row.variance, self.epsilon) * (row.mean_abs + (x - row.mean).abs())
                + beta.abs()
        })
    }
}

/// 1/√(v + ε).
pub fn inverse(v: f64, epsilon: f32) -> f64 {
    1.0 / (v + f64::from(epsilon)).sqrt()
}

/// The size of 1/√(v + ε) where v is a sum of terms of that size.
pub fn inverse_size(v: f64, size: f64, epsilon: f32) -> f64 {
    inverse(v, epsilon) * (1.0 + size / (v + f64::from(epsilon)))
}

/// Statistics of a row.
pub struct Stats {
    /// Σx/n.
    pub mean: f64,
    /// Σ(x − mean)²/n.
    pub variance: f64,
    /// Σx²/n.
    pub mean_square: f64,
    /// Σ|x|/n.
    pub mean_abs: f64,
}

impl Stats {
    /// Of n elements.
    pub fn of(n: usize, row: impl Iterator<Item = f64> + Clone) -> Stats {
        let mean_of = |g: &dyn Fn(f64) -> f64| row.clone().map(g).sum::<f64>() / n as f64;
        let mean = mean_of(&|x| x);
        Stats {
            mean,
            variance: mean_of(&|x| (x - mean) * (x - mean)),
            mean_square: mean_of(&|x| x * x),
            mean_abs: mean_of(&f64::abs),
        }
    }
}

/// The class of sums over a row.
pub fn row_tolerance(cx: &EvalCx<'_>, axis: i64) -> Tolerance {
    Tolerance::sum(cx.out().0, row_length(cx, axis) as u64)
}

/// How many elements a row has.
pub fn row_length(cx: &EvalCx<'_>, axis: i64) -> usize {
    let shape = &cx.arg(0).shape;
    count(&shape[axis_of(axis, shape.len())..])
}

/// One value for each row.
pub fn of_rows(cx: &EvalCx<'_>, axis: i64, f: impl Fn(&Stats) -> f64) -> Vec<f64> {
    let (x, n) = (cx.arg(0), row_length(cx, axis));
    let rows = count(&x.shape[..axis_of(axis, x.shape.len())]);
    let values = x.as_floats();
    (0..rows).map(|r| f(&Stats::of(n, values[r * n..][..n].iter().copied()))).collect()
}

/// The norm's result, and its statistics where the node has them.
pub fn with_statistics(
    y: Vec<Array>,
    cx: &EvalCx<'_>,
    axis: i64,
    statistics: &[&dyn Fn(&Stats) -> f64],
) -> Vec<Array> {
    let more = cx.outputs.iter().skip(1).zip(statistics);
    let more = more.map(|((dtype, shape), f)| Array::floats(*dtype, shape, of_rows(cx, axis, f)));
    y.into_iter().chain(more).collect()
}

/// One value per element from its row's statistics, the element, γ and β.
pub fn normalized(cx: &EvalCx<'_>, axis: i64, f: impl Fn(&Stats, f64, f64, f64) -> f64) -> Vec<Array> {
    let x = cx.arg(0);
    vec![Array::floats(x.dtype, &x.shape, magnitudes(cx, axis, f))]
}

/// As [`normalized`], not rounded.
pub fn magnitudes(cx: &EvalCx<'_>, axis: i64, f: impl Fn(&Stats, f64, f64, f64) -> f64) -> Vec<f64> {
    let x = cx.arg(0);
    let n = count(&x.shape[axis_of(axis, x.shape.len())..]).max(1);
    let [gamma, beta] = [1, 2].map(|i| cx.opt(i).map(|scale| expand(scale, &x.shape)));
    let mut y = Vec::with_capacity(x.len());
    for (r, row) in x.as_floats().chunks(n).enumerate() {
        let stats = Stats::of(n, row.iter().copied());
        for (c, &x) in row.iter().enumerate() {
            let i = r * n + c;
            let at = |scale: &Option<Cow<'_, Array>>, none| scale.as_ref().map_or(none, |s| s.as_floats()[i]);
            y.push(f(&stats, x, at(&gamma, 1.0), at(&beta, 0.0)));
        }
    }
    y
}
