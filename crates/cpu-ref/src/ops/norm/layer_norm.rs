//! `LayerNorm`, and the rows that `RmsNorm` shares.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{axis_of, count, expand};
use crate::tolerance::Tolerance;
use pumice_ir::ops::LayerNorm;
use std::borrow::Cow;

impl Eval for LayerNorm {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        normalized(cx, self.axis, |row, x, gamma, beta| {
            (x - row.mean) * inverse(row.variance, self.epsilon) * gamma + beta
        })
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        row_tolerance(cx, self.axis)
    }

    /// |γ|/√(σ² + ε)·(mean|x| + |x − μ|) + |β|. The mean is a sum of K terms, off by δ = 4(⌈log₂K⌉ + 4)·2⁻²⁴·mean|x| at
    /// most, and moves every difference by δ; the variance is taken about that mean, so its own relative error is that
    /// of a sum of squares plus δ²/σ², of second order; the root halves it. Where |μ| ≫ σ the first term dominates: x −
    /// μ has lost those digits in f32, whatever the kernel.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
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
    let x = cx.arg(0);
    Tolerance::sum(x.dtype, count(&x.shape[axis_of(axis, x.shape.len())..]) as u64)
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
