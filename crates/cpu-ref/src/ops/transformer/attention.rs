//! `Attention`: query by query, key by key.

use crate::array::{Array, Data};
use crate::eval::{Eval, EvalCx};
use crate::index::{broadcast_strides, strides};
use crate::ops::random::philox::places;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Attention;
use pumice_ir::ops::attention::{ALIBI, DROPOUT, LENGTH, MASK, OFFSET, SINKS};
use pumice_types::philox::Philox;

impl Eval for Attention {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let problem = Problem::new(self, cx);
        let y = problem.results(|p, _, v| p * v);
        let sums = self.lse.then(|| problem.rows().map(|row| row.log_sum()).collect());
        let results = std::iter::once(y).chain(sums).zip(cx.outputs);
        results.map(|(values, (dtype, shape))| Array::floats(*dtype, shape, values)).collect()
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let [_, _, keys, width] = self.layout.axes().map(|a| cx.arg(1).shape[a]);
        Tolerance::sum(cx.out().0, keys.max(width))
    }

    /// Σ p|v|·(1 + 2S), S the largest Σ|q·k|·scale + |mask| over the query's allowed keys. Every score is a sum of D
    /// terms, off by 4(⌈log₂D⌉ + 4)·2⁻²⁴·S at most (softcap's slope is at most 1, its tanh's 8 ULP are of |s| ≤ S). The
    /// exponential makes that a relative error of p, the division by Σp doubles it, and the sum over keys is one more
    /// sum of Σp|v|. What the sum's logarithm is off by is the relative error of the sum, and the rounding of a score.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        if cx.result == 1 {
            return Problem::new(self, cx).rows().map(|row| 1.0 + 2.0 * row.largest).collect();
        }
        Problem::new(self, cx).results(|p, largest, v| p * v.abs() * (1.0 + 2.0 * largest))
    }
}

/// Operands with their strides in the order batch, head, sequence, width.
pub struct Problem<'a> {
    op: &'a Attention,
    /// Queries.
    pub q: Operand<'a>,
    /// Keys.
    pub k: Operand<'a>,
    /// Values.
    pub v: Operand<'a>,
    mask: Option<Mask<'a>>,
    kv_len: Option<&'a [i64]>,
    offset: Option<&'a [i64]>,
    sinks: Option<&'a [f64]>,
    alibi: Option<&'a [f64]>,
    /// What each probability is multiplied by, if some are dropped.
    kept: Option<Vec<f64>>,
    /// Factor of the products.
    pub scale: f64,
}

/// An operand over batch, heads, rows, width.
pub struct Operand<'a> {
    data: &'a [f64],
    /// Extents of these.
    pub extents: [usize; 4],
    strides: [usize; 4],
}

impl<'a> Operand<'a> {
    /// Of an array whose axes these are.
    pub fn new(x: &'a Array, axes: [usize; 4]) -> Operand<'a> {
        let all = strides(&x.shape);
        Operand {
            data: x.as_floats(),
            extents: axes.map(|a| x.shape[a] as usize),
            strides: axes.map(|a| all[a] as usize),
        }
    }

    /// The place of the first element of a row.
    pub fn offset(&self, b: usize, h: usize, s: usize) -> usize {
        b * self.strides[0] + h * self.strides[1] + s * self.strides[2]
    }

    /// An element.
    pub fn at(&self, b: usize, h: usize, s: usize, d: usize) -> f64 {
        self.data[self.offset(b, h, s) + d * self.strides[3]]
    }
}

struct Mask<'a> {
    array: &'a Array,
    strides: Vec<i64>,
    keys: usize,
}

impl Mask<'_> {
    /// What is added to the score, or none where the key is not allowed.
    fn at(&self, b: usize, h: usize, i: usize, j: usize) -> Option<f64> {
        if j >= self.keys {
            return None;
        }
        let place: i64 = [b, h, i].iter().zip(&self.strides).map(|(&x, s)| x as i64 * s).sum();
        let place = place as usize + j;
        match &self.array.data {
            Data::Int(v) => (v[place] != 0).then_some(0.0),
            Data::Float(v) => Some(v[place]).filter(|m| *m != f64::NEG_INFINITY),
        }
    }
}

impl<'a> Problem<'a> {
    /// Of the operands of a node.
    pub fn new(op: &'a Attention, cx: &EvalCx<'a>) -> Problem<'a> {
        let floats = |i| cx.opt(i).map(Array::as_floats);
        let problem = Problem::of(op, cx, [MASK, LENGTH, OFFSET]);
        let shape = [problem.q.extents[0], problem.q.extents[1], problem.q.extents[2], problem.k.extents[2]];
        let kept = (op.dropout > 0.0).then(|| kept(op, cx, &shape.map(|n| n as u64)));
        Problem { sinks: floats(SINKS), alibi: floats(ALIBI), kept, ..problem }
    }

    /// Without sinks and slopes; mask, length and place are operands of these numbers.
    pub fn of(op: &'a Attention, cx: &EvalCx<'a>, [mask, length, offset]: [usize; 3]) -> Problem<'a> {
        let axes = op.layout.axes();
        let [q, k, v] = [0, 1, 2].map(|i| Operand::new(cx.arg(i), axes));
        let [batch, heads, rows, width] = q.extents;
        let mask = cx.opt(mask).map(|array| {
            let keys = *array.shape.last().expect("verified: the mask has rank 2 to 4");
            let full = [batch as u64, heads as u64, rows as u64, keys];
            Mask { array, strides: broadcast_strides(&array.shape, &full), keys: keys as usize }
        });
        let scale = op.scale.map_or_else(|| 1.0 / (width as f64).sqrt(), f64::from);
        let ints = |i| cx.opt(i).map(Array::as_ints);
        let (kv_len, offset) = (ints(length), ints(offset));
        Problem { op, q, k, v, mask, kv_len, offset, sinks: None, alibi: None, kept: None, scale }
    }

    /// The rows of all queries: batch entries, heads, then queries.
    fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let [batch, heads, rows, _] = self.q.extents;
        (0..batch * heads * rows).map(move |row| self.row(row / rows / heads, row / rows % heads, row % rows))
    }

    /// Σ term(pⱼ, S, vⱼ) for every element of the result, in its layout.
    fn results(&self, term: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        let [batch, heads, rows, _] = self.q.extents;
        let width = self.v.extents[3];
        let mut shape = [0u64; 4];
        let axes = self.op.layout.axes();
        axes.into_iter().zip([batch, heads, rows, width]).for_each(|(a, n)| shape[a] = n as u64);
        let walk = strides(&shape);
        let mut y = vec![0.0; batch * heads * rows * width];
        for number in 0..batch * heads * rows {
            let (b, h, i) = (number / rows / heads, number / rows % heads, number % rows);
            let kept = |j: usize| self.kept.as_ref().map_or(1.0, |of| of[number * self.k.extents[2] + j]);
            let key_head = h * self.k.extents[1] / heads;
            let row = self.row(b, h, i);
            let (weights, undefined) = (row.weights(), row.sum().1.is_nan());
            for d in 0..width {
                let at = [b, h, i, d].iter().zip(axes).map(|(&x, a)| x * walk[a] as usize).sum::<usize>();
                let value = |j| self.v.at(b, key_head, j, d);
                let terms = weights.iter().map(|&(j, p)| term(p * kept(j), row.largest, value(j)));
                y[at] = if undefined { f64::NAN } else { terms.sum() };
            }
        }
        y
    }

    /// The scores of a query.
    fn row(&self, b: usize, h: usize, i: usize) -> Row {
        let (scores, largest) = self.scores(b, h, h * self.k.extents[1] / self.q.extents[1], i);
        // A sink of −Inf is none.
        let sink = self.sinks.map(|of| of[h]).filter(|s| *s != f64::NEG_INFINITY);
        let largest = largest.max(sink.map_or(0.0, f64::abs));
        Row { scores, sink, largest }
    }

    /// The allowed keys of a query with their scores, and the largest size of one.
    pub fn scores(&self, b: usize, h: usize, key_head: usize, i: usize) -> (Vec<(usize, f64)>, f64) {
        let keys = self.k.extents[2];
        let length = self.kv_len.map(|l| l[b.min(l.len() - 1)]);
        let total = length.map_or(keys as i64, |l| l.min(keys as i64));
        let given = self.offset.map(|o| o[b.min(o.len() - 1)]);
        let implied = || length.map_or(0, |l| l - self.q.extents[2] as i64);
        let place = i as i64 + given.unwrap_or_else(implied);
        let mut largest = 0f64;
        let mut scores = Vec::new();
        for j in 0..keys.min(usize::try_from(total).unwrap_or(0)) {
            let added = match &self.mask {
                _ if !self.in_window(j as i64, place) => None,
                Some(mask) => mask.at(b, h, i, j),
                None => Some(0.0),
            };
            let Some(added) = added else { continue };
            let bias = self.alibi.map_or(0.0, |slopes| slopes[h] * (j as i64 - place) as f64);
            let terms = (0..self.q.extents[3]).map(|d| self.q.at(b, h, i, d) * self.k.at(b, key_head, j, d));
            let (sum, size) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
            largest = largest.max(size * self.scale.abs() + added.abs() + bias.abs());
            scores.push((j, self.capped(sum * self.scale) + added + bias));
        }
        (scores, largest)
    }

    /// A score under the soft cap, if there is one.
    fn capped(&self, score: f64) -> f64 {
        let cap = f64::from(self.op.softcap);
        if cap > 0.0 { cap * (score / cap).tanh() } else { score }
    }

    /// By what a score grows with its product under the soft cap: 1 − tanh².
    pub fn slope(&self, product: f64) -> f64 {
        let cap = f64::from(self.op.softcap);
        if cap > 0.0 { 1.0 - (product * self.scale / cap).tanh().powi(2) } else { 1.0 }
    }

    fn in_window(&self, j: i64, place: i64) -> bool {
        let op = self.op;
        (!op.causal || j <= place)
            && (op.left < 0 || j >= place.saturating_sub(op.left))
            && (op.right < 0 || j <= place.saturating_add(op.right))
    }
}

/// What dropout multiplies each of these probabilities by: its element of the mask over what stays.
fn kept(op: &Attention, cx: &EvalCx<'_>, shape: &[u64; 4]) -> Vec<f64> {
    let ratio = f64::from(op.dropout);
    let factor = |(row, i): &(Philox, u64)| if row.uniform(*i) >= ratio { 1.0 / (1.0 - ratio) } else { 0.0 };
    places(cx, DROPOUT, op.stream, shape).iter().map(factor).collect()
}

/// What a query sees.
struct Row {
    /// Keys with their scores.
    scores: Vec<(usize, f64)>,
    /// One more score.
    sink: Option<f64>,
    /// The largest size of a score.
    largest: f64,
}

impl Row {
    fn all(&self) -> impl Iterator<Item = f64> + '_ {
        self.scores.iter().map(|s| s.1).chain(self.sink)
    }

    /// The largest score, and the sum of e^(s − that).
    fn sum(&self) -> (f64, f64) {
        let max = self.all().fold(f64::NEG_INFINITY, f64::max);
        (max, self.all().map(|s| (s - max).exp()).sum())
    }

    /// Keys with their probabilities.
    fn weights(&self) -> Vec<(usize, f64)> {
        let (max, sum) = self.sum();
        self.scores.iter().map(|&(j, s)| (j, (s - max).exp() / sum)).collect()
    }

    /// ln Σ e^s; −Inf of nothing.
    fn log_sum(&self) -> f64 {
        let (max, sum) = self.sum();
        if self.all().next().is_none() { f64::NEG_INFINITY } else { max + sum.ln() }
    }
}
