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

    /// Σ e^(mₚ − m)·|oₚ|·(1 + t/16) / Σ e^(mₚ − m)·lₚ, t = m − mₚ: the exponential makes the rounding of t a relative
    /// error of its result.
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
        let values = &v[row * parts * columns..][..parts * columns];
        let row = Row::of(values, columns, sizes);
        for d in 0..width {
            let at = place.iter().chain([&d]).zip(axes).map(|(&i, a)| i * walk[a] as usize).sum::<usize>();
            y[at] = row.element(d);
        }
    }
    y
}

/// The parts of one row, each its results and beside them its maximum and its sum.
struct Row<'v> {
    values: &'v [f64],
    /// Of one part.
    columns: usize,
    /// Whether magnitudes are asked for.
    sizes: bool,
    /// The greatest maximum.
    max: f64,
    /// Whether no part has a key.
    none: bool,
    /// Σ e^(mₚ − m)·lₚ.
    sum: f64,
}

impl<'v> Row<'v> {
    fn of(values: &'v [f64], columns: usize, sizes: bool) -> Row<'v> {
        let mut row = Row { values, columns, sizes, max: f64::NEG_INFINITY, none: true, sum: 0.0 };
        row.max = row.parts().map(|part| row.max_of(part)).fold(f64::NEG_INFINITY, f64::max);
        row.none = row.parts().all(|part| row.is_low(part));
        let sum = row.counted().map(|part| row.share(part)).sum();
        Row { sum, ..row }
    }

    fn parts(&self) -> std::slice::ChunksExact<'v, f64> {
        self.values.chunks_exact(self.columns)
    }

    /// The parts with keys; all where none has.
    fn counted(&self) -> impl Iterator<Item = &'v [f64]> + '_ {
        self.parts().filter(|part| self.none || !self.is_low(part))
    }

    fn max_of(&self, part: &[f64]) -> f64 {
        part[self.columns - BESIDE as usize]
    }

    fn is_low(&self, part: &[f64]) -> bool {
        self.max_of(part) == f64::NEG_INFINITY
    }

    /// What a part adds to the sum.
    fn share(&self, part: &[f64]) -> f64 {
        let sum = part[self.columns - BESIDE as usize + 1];
        if self.none { sum } else { (self.max_of(part) - self.max).exp() * sum }
    }

    /// What the results of a part count.
    fn weight(&self, part: &[f64]) -> f64 {
        let t = self.max - self.max_of(part);
        (-t).exp() * if self.sizes { 1.0 + t.abs().min(200.0) / 16.0 } else { 1.0 }
    }

    fn element(&self, d: usize) -> f64 {
        let value = |part: &[f64]| if self.sizes { part[d].abs() } else { part[d] };
        match self.sum {
            _ if self.none && self.sum.is_nan() => f64::NAN,
            0.0 => 0.0,
            sum => self.counted().map(|part| self.weight(part) * value(part)).sum::<f64>() / sum,
        }
    }
}
