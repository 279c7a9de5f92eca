//! `AttentionGrad`: pair by pair of a query and a key that it sees.

use super::attention::{Operand, Problem};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::AttentionGrad;
use pumice_ir::ops::attention_grad::{AttentionFactor, DELTA, DY, LENGTH, LSE, MASK, OFFSET};

impl Eval for AttentionGrad {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let results = gradients(self, cx, false).into_iter().zip(cx.outputs);
        results.map(|(values, (dtype, shape))| Array::floats(*dtype, shape, values)).collect()
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let [_, heads, queries, width] = self.layout.axes().map(|a| cx.arg(0).shape[a]);
        let [_, key_heads, keys, values] = self.layout.axes().map(|a| cx.arg(2).shape[a]);
        let terms = match self.of {
            AttentionFactor::Queries => keys,
            AttentionFactor::KeysAndValues => queries * (heads / key_heads.max(1)),
        };
        Tolerance::sum(cx.out().0, terms.max(width).max(values)).of_product(self.rounding, 3)
    }

    /// Σ of the sizes of terms, with Σ|dy·v| + |delta| for dp − delta, 1 for the slope of a cap, and 1 + 2S for what a
    /// score is off by, S its size with that of lse (see `Attention`).
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        gradients(self, cx, true).swap_remove(cx.result)
    }
}

/// What a query has besides itself.
struct Query<'a> {
    dy: Operand<'a>,
    lse: &'a [f64],
    delta: &'a [f64],
}

/// A pair: p and scale·ds·(1 − t²), or how large they count.
struct Pair {
    p: f64,
    dz: f64,
}

fn gradients(op: &AttentionGrad, cx: &EvalCx<'_>, sizes: bool) -> Vec<Vec<f64>> {
    let whole = op.attention();
    let problem = Problem::of(&whole, cx, [MASK, LENGTH, OFFSET]);
    let dy = Operand::new(cx.arg(DY), op.layout.axes());
    let query = Query { dy, lse: cx.arg(LSE).as_floats(), delta: cx.arg(DELTA).as_floats() };
    let [batch, heads, queries, _] = problem.q.extents;
    let mut results: Vec<Vec<f64>> =
        cx.outputs.iter().map(|(_, shape)| vec![0.0; shape.iter().product::<u64>() as usize]).collect();
    for row in 0..batch * heads * queries {
        let (b, h, i) = (row / queries / heads, row / queries % heads, row % queries);
        let key_head = h * problem.k.extents[1] / heads;
        let (scores, largest) = problem.scores(b, h, key_head, i);
        for (j, score) in scores {
            let at = [b, h, key_head, i, j];
            let pair = pair(&problem, &query, (at, row), (score, largest), sizes);
            add(op.of, &mut results, &problem, &query, at, &pair, sizes);
        }
    }
    results
}

fn pair(
    problem: &Problem<'_>,
    query: &Query<'_>,
    ([b, h, key_head, i, j], row): ([usize; 5], usize),
    (score, largest): (f64, f64),
    sizes: bool,
) -> Pair {
    let lse = query.lse[row];
    // What nothing was seen for is above every score of nothing.
    let lse = if lse < f64::from(f32::MIN) { f64::from(f32::MIN) } else { lse };
    let (p, delta) = ((score - lse).exp(), query.delta[row]);
    let values =
        dot(problem.v.extents[3], |d| query.dy.at(b, h, i, d) * problem.v.at(b, key_head, j, d), sizes);
    if sizes {
        let p = p * (1.0 + 2.0 * (largest + lse.abs()));
        return Pair { p, dz: problem.scale.abs() * p * (values + delta.abs()) };
    }
    let width = problem.q.extents[3];
    let product = dot(width, |d| problem.q.at(b, h, i, d) * problem.k.at(b, key_head, j, d), false);
    Pair { p, dz: problem.scale * p * (values - delta) * problem.slope(product) }
}

/// The sum of so many terms, or of their sizes.
fn dot(width: usize, term: impl Fn(usize) -> f64, sizes: bool) -> f64 {
    (0..width).map(term).map(|t| if sizes { t.abs() } else { t }).sum()
}

/// Adds what a pair gives to each result.
fn add(
    of: AttentionFactor,
    results: &mut [Vec<f64>],
    problem: &Problem<'_>,
    query: &Query<'_>,
    [b, h, key_head, i, j]: [usize; 5],
    pair: &Pair,
    sizes: bool,
) {
    let (of_query, of_key) = ([b, h, i], [b, key_head, j]);
    match of {
        AttentionFactor::Queries => {
            add_row(&mut results[0], (&problem.q, of_query), pair.dz, (&problem.k, of_key), sizes);
        }
        AttentionFactor::KeysAndValues => {
            add_row(&mut results[0], (&problem.k, of_key), pair.dz, (&problem.q, of_query), sizes);
            add_row(&mut results[1], (&problem.v, of_key), pair.p, (&query.dy, of_query), sizes);
        }
    }
}

/// Adds a weight times a row of an operand, or of its sizes, to the row of a result that lies like another operand.
fn add_row(
    result: &mut [f64],
    (like, [b, h, s]): (&Operand<'_>, [usize; 3]),
    weight: f64,
    (x, [xb, xh, xs]): (&Operand<'_>, [usize; 3]),
    sizes: bool,
) {
    let at = like.offset(b, h, s);
    for d in 0..like.extents[3] {
        let term = x.at(xb, xh, xs, d);
        result[at + d] += weight * if sizes { term.abs() } else { term };
    }
}
