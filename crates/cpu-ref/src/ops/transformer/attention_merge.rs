//! `AttentionMerge`: row by row.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::strides;
use crate::tolerance::Tolerance;
use pumice_ir::ops::AttentionMerge;
use pumice_ir::ops::attention_parts::BESIDE;

impl Eval for AttentionMerge {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let y = results(self, cx, false);
        let sums = self.lse.then(|| rows(cx, false).map(|row| row.log_sum()).collect());
        let results = std::iter::once(y).chain(sums).zip(cx.outputs);
        results.map(|(values, (dtype, shape))| Array::floats(*dtype, shape, values)).collect()
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, cx.arg(0).shape[3])
    }

    /// Σ e^(mₚ − m)·|oₚ|·(1 + t/16) / Σ e^(mₚ − m)·lₚ, t = m − mₚ: the exponential makes the rounding of t a relative
    /// error of its result. The sum's logarithm is off by as much as the sum, and by the rounding of m.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        if cx.result == 1 {
            return rows(cx, true).map(|row| 1.0 + row.farthest() / 16.0 + row.max.abs()).collect();
        }
        results(self, cx, true)
    }
}

/// Every element, or its magnitude.
fn results(op: &AttentionMerge, cx: &EvalCx<'_>, sizes: bool) -> Vec<f64> {
    let x = cx.arg(0);
    let [batch, heads, queries, _, columns] = [0, 1, 2, 3, 4].map(|a| x.shape[a] as usize);
    let width = columns - BESIDE as usize;
    let mut shape = [0u64; 4];
    let axes = op.layout.axes();
    axes.into_iter().zip([batch, heads, queries, width]).for_each(|(a, n)| shape[a] = n as u64);
    let walk = strides(&shape);
    let mut y = vec![0.0; batch * heads * queries * width];
    for (i, row) in rows(cx, sizes).enumerate() {
        let place = [i / queries / heads, i / queries % heads, i % queries];
        for d in 0..width {
            let at = place.iter().chain([&d]).zip(axes).map(|(&i, a)| i * walk[a] as usize).sum::<usize>();
            y[at] = row.element(d);
        }
    }
    y
}

/// The rows of all queries: batch entries, heads, then queries.
fn rows<'a>(cx: &EvalCx<'a>, sizes: bool) -> impl Iterator<Item = Row<'a>> {
    let x = cx.arg(0);
    let [batch, heads, queries, parts, columns] = [0, 1, 2, 3, 4].map(|a| x.shape[a] as usize);
    let (v, sinks) = (x.as_floats(), cx.opt(1).map(Array::as_floats));
    (0..batch * heads * queries).map(move |i| {
        let sink = sinks.map(|of| of[i / queries % heads]).filter(|s| *s != f64::NEG_INFINITY);
        Row::of(&v[i * parts * columns..][..parts * columns], columns, sink, sizes)
    })
}

/// The parts of one row, each its results and beside them its maximum and its sum.
struct Row<'v> {
    values: &'v [f64],
    /// Of one part.
    columns: usize,
    /// Whether magnitudes are asked for.
    sizes: bool,
    /// One more score.
    sink: Option<f64>,
    /// The greatest maximum, of the sink, too.
    max: f64,
    /// Whether no part has a key.
    none: bool,
    /// Σ e^(mₚ − m)·lₚ.
    sum: f64,
}

impl<'v> Row<'v> {
    fn of(values: &'v [f64], columns: usize, sink: Option<f64>, sizes: bool) -> Row<'v> {
        let mut row = Row { values, columns, sizes, sink, max: f64::NEG_INFINITY, none: true, sum: 0.0 };
        let maxima = row.parts().map(|part| row.max_of(part)).chain(sink);
        row.max = maxima.fold(f64::NEG_INFINITY, f64::max);
        row.none = row.parts().all(|part| row.is_low(part));
        let of_parts = if row.none && sink.is_some() { 0.0 } else { row.shares() };
        Row { sum: of_parts + sink.map_or(0.0, |s| (s - row.max).exp()), ..row }
    }

    fn shares(&self) -> f64 {
        self.counted().map(|part| self.share(part)).sum()
    }

    /// By how much the maxima of parts are apart at most.
    fn farthest(&self) -> f64 {
        self.counted().map(|part| self.max - self.max_of(part)).filter(|t| *t < 200.0).fold(0.0, f64::max)
    }

    /// ln Σ e^s of all keys, −Inf of none.
    fn log_sum(&self) -> f64 {
        if self.sum == 0.0 { f64::NEG_INFINITY } else { self.max + self.sum.ln() }
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
            sum if self.none && self.sink.is_some() => self.parts().map(value).sum::<f64>() / sum,
            _ if self.none && self.sum.is_nan() => f64::NAN,
            0.0 => 0.0,
            sum => self.counted().map(|part| self.weight(part) * value(part)).sum::<f64>() / sum,
        }
    }
}
