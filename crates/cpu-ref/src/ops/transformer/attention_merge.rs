//! `AttentionMerge`: row by row.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::strides;
use crate::tolerance::Tolerance;
use pumice_ir::ops::AttentionMerge;
use pumice_ir::ops::attention_parts::BESIDE;

impl Eval for AttentionMerge {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, results(self, cx, false))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, cx.arg(0).shape[3])
    }

    /// Σ e^(mₚ − m)·|oₚ|·(1 + t/16) / Σ e^(mₚ − m)·lₚ, t = m − mₚ: the exponential makes the rounding of t a relative error
    /// of its result.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        results(self, cx, true)
    }
}

/// Every element, or its magnitude.
fn results(op: &AttentionMerge, cx: &EvalCx<'_>, sizes: bool) -> Vec<f64> {
    let x = cx.arg(0);
    let v = x.as_floats();
    let [batch, heads, rows, parts, columns] = [0, 1, 2, 3, 4].map(|a| x.shape[a] as usize);
    let width = columns - BESIDE as usize;
    let mut shape = [0u64; 4];
    let axes = op.layout.axes();
    axes.into_iter().zip([batch, heads, rows, width]).for_each(|(a, n)| shape[a] = n as u64);
    let walk = strides(&shape);
    let mut y = vec![0.0; batch * heads * rows * width];
    for row in 0..batch * heads * rows {
        let place = [row / rows / heads, row / rows % heads, row % rows];
        let part = |p: usize| &v[(row * parts + p) * columns..][..columns];
        let max = (0..parts).map(|p| part(p)[width]).fold(f64::NEG_INFINITY, f64::max);
        let low = |p: &usize| part(*p)[width] == f64::NEG_INFINITY;
        let weight = |p: usize| {
            let t = max - part(p)[width];
            (-t).exp() * if sizes { 1.0 + t.abs().min(200.0) / 16.0 } else { 1.0 }
        };
        let none = (0..parts).all(|p| low(&p));
        let counted = |p: &usize| none || !low(p);
        let sum: f64 = (0..parts)
            .filter(counted)
            .map(
                |p| if none { part(p)[width + 1] } else { (part(p)[width] - max).exp() * part(p)[width + 1] },
            )
            .sum();
        for d in 0..width {
            let at = place.iter().chain([&d]).zip(axes).map(|(&i, a)| i * walk[a] as usize).sum::<usize>();
            let value = |p: usize| if sizes { part(p)[d].abs() } else { part(p)[d] };
            y[at] = match sum {
                _ if none && sum.is_nan() => f64::NAN,
                0.0 => 0.0,
                _ => (0..parts).filter(counted).map(|p| weight(p) * value(p)).sum::<f64>() / sum,
            };
        }
    }
    y
}
