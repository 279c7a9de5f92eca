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
                    let own: Vec<(usize, f64)> = scores
                        .iter()
                        .copied()
                        .filter(|(j, _)| *j as u64 / BLOCK % op.parts as u64 == part)
                        .collect();
                    let max = own.iter().map(|s| s.1).fold(f64::NEG_INFINITY, f64::max);
                    let some = max > f64::NEG_INFINITY || own.iter().any(|s| s.1.is_nan());
                    let weight = |s: f64| if some { (s - max).exp() } else { 0.0 };
                    let widened = if sizes { 1.0 + 2.0 * largest } else { 1.0 };
                    for d in 0..width {
                        let value = |j: usize| p.v.at(b, key_head, j, d);
                        let term = |j: usize| if sizes { value(j).abs() } else { value(j) };
                        let terms = own.iter().filter(|_| some).map(|&(j, s)| weight(s) * widened * term(j));
                        y.push(terms.sum());
                    }
                    let sum = match own.is_empty() || some {
                        true => own.iter().map(|s| weight(s.1) * widened).sum(),
                        false => f64::NAN,
                    };
                    y.extend([if sizes { largest } else { max }, sum, 0.0, 0.0]);
                }
            }
        }
    }
    y
}
