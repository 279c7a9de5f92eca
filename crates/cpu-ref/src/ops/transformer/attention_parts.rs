//! `AttentionParts`: query by query, part by part, key by key.

use super::attention::Problem;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::AttentionParts;
use pumice_ir::ops::attention_parts::BLOCK;

impl Eval for AttentionParts {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, results(self, cx, false))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let [_, _, keys, width] = self.layout.axes().map(|a| cx.arg(1).shape[a]);
        Tolerance::sum(cx.out().0, keys.max(width))
    }

    /// As of `Attention`, without its division: Σ p|v|·(1 + 2S) and Σ p·(1 + 2S); S for the largest score.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        results(self, cx, true)
    }
}

/// Every element, or its magnitude.
fn results(op: &AttentionParts, cx: &EvalCx<'_>, sizes: bool) -> Vec<f64> {
    let whole = op.whole();
    let p = Problem::new(&whole, cx);
    let [batch, heads, rows, _] = p.q.extents;
    let width = p.v.extents[3];
    let mut y = Vec::new();
    for b in 0..batch {
        for h in 0..heads {
            let key_head = h * p.k.extents[1] / heads;
            for i in 0..rows {
                let (scores, largest) = p.scores(b, h, key_head, i);
                for part in 0..op.parts as u64 {
                    let own =
                        scores.iter().copied().filter(|(j, _)| *j as u64 / BLOCK % op.parts as u64 == part);
                    let part = Part::of(own.collect(), largest, sizes);
                    let value = |j: usize, d: usize| p.v.at(b, key_head, j, d);
                    y.extend((0..width).map(|d| part.sum_of(|j| value(j, d))));
                    y.extend(part.beside());
                }
            }
        }
    }
    y
}

/// The keys of one part that a query sees.
struct Part {
    /// Keys with their scores.
    keys: Vec<(usize, f64)>,
    /// Their maximum.
    max: f64,
    /// Whether one has a weight.
    some: bool,
    /// The largest score of the query in magnitude, where magnitudes are asked for.
    largest: Option<f64>,
}

impl Part {
    fn of(keys: Vec<(usize, f64)>, largest: f64, sizes: bool) -> Part {
        let max = keys.iter().map(|s| s.1).fold(f64::NEG_INFINITY, f64::max);
        let some = max > f64::NEG_INFINITY || keys.iter().any(|s| s.1.is_nan());
        Part { keys, max, some, largest: sizes.then_some(largest) }
    }

    fn weight(&self, score: f64) -> f64 {
        let p = if self.some { (score - self.max).exp() } else { 0.0 };
        p * self.largest.map_or(1.0, |s| 1.0 + 2.0 * s)
    }

    /// Σ p·v, without its division.
    fn sum_of(&self, value: impl Fn(usize) -> f64) -> f64 {
        let term = |j: usize| if self.largest.is_some() { value(j).abs() } else { value(j) };
        self.keys.iter().filter(|_| self.some).map(|&(j, s)| self.weight(s) * term(j)).sum()
    }

    /// What stands beside the sums: the maximum and Σ p.
    fn beside(&self) -> [f64; 4] {
        let sum = match self.keys.is_empty() || self.some {
            true => self.keys.iter().map(|s| self.weight(s.1)).sum(),
            false => f64::NAN,
        };
        [self.largest.unwrap_or(self.max), sum, 0.0, 0.0]
    }
}
