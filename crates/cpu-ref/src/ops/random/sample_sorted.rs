//! `SampleSorted`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::tolerance::Tolerance;
use pumice_ir::ops::SampleSorted;

/// Weights of a row in descending order, and their sums.
struct Row<'a> {
    weights: &'a [f64],
    sums: &'a [f64],
}

impl Row<'_> {
    /// How many weights the options leave.
    fn left(&self, [temperature, top_k, top_p, min_p]: [f64; 4]) -> usize {
        if temperature == 0.0 {
            return 1;
        }
        let most = if top_k >= 1.0 { self.weights.len().min(top_k as usize) } else { self.weights.len() };
        // Which weights stay is decided in f32, as everything that jumps.
        let mass = f64::from((top_p * self.sums[most - 1]) as f32);
        let smallest = f64::from((min_p * self.weights[0]) as f32);
        let in_share = |i: usize| if top_p < 1.0 { self.sums[i - 1] < mass } else { true };
        let is_small = |i: usize| self.weights[i] < smallest;
        (1..most).find(|&i| !in_share(i) || is_small(i)).unwrap_or(most)
    }

    /// The element that u draws of the first `left`.
    fn drawn(&self, left: usize, u: f64) -> usize {
        let target = f64::from((u * self.sums[left - 1]) as f32);
        let is_before = |&i: &usize| self.sums[i] <= target;
        (0..left - 1).take_while(is_before).count()
    }
}

/// Temperature, top_k, top_p and min_p of the rows.
struct Options {
    given: [Option<Vec<f64>>; 4],
}

impl Options {
    /// Of row r, with what stands for absent ones.
    fn of(&self, r: usize) -> [f64; 4] {
        let absent = [1.0, 0.0, 1.0, 0.0];
        std::array::from_fn(|k| self.given[k].as_ref().map_or(absent[k], |v| v[r.min(v.len() - 1)]))
    }
}

/// What is drawn of row r: its place, and the logarithm of its probability.
fn draw(cx: &EvalCx<'_>, r: usize, options: &Options) -> (usize, f64) {
    let n = cx.arg(0).shape[1] as usize;
    let of = |operand: usize| &cx.arg(operand).as_floats()[r * n..(r + 1) * n];
    let row = Row { weights: of(0), sums: of(1) };
    let options = options.of(r);
    let (invalid, some) = (cx.arg(3).as_ints()[r] != 0, row.weights[0] > 0.0);
    let mean_something = [0, 2, 3].iter().all(|&k| options[k] >= 0.0);
    if invalid || !some || !mean_something {
        cx.raise(Status::BadDistribution(r as u64));
    }
    let left = row.left(options);
    let i = if some { row.drawn(left, cx.arg(4).as_floats()[r]) } else { 0 };
    match row.weights[i] {
        0.0 => (i, f64::NEG_INFINITY),
        weight => (i, (weight / row.sums[left - 1]).ln()),
    }
}

impl Eval for SampleSorted {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (rows, n) = (cx.arg(0).shape[0] as usize, cx.arg(0).shape[1] as usize);
        let options = Options { given: [5, 6, 7, 8].map(|k| cx.opt(k).map(Array::to_f64)) };
        let drawn: Vec<(usize, f64)> = (0..rows).map(|r| draw(cx, r, &options)).collect();
        let id = |(r, &(i, _)): (usize, &(usize, f64))| cx.arg(2).as_ints()[r * n + i];
        let ids = drawn.iter().enumerate().map(id).collect();
        let [(of_id, shape), (of_logprob, _)] = [&cx.outputs[0], &cx.outputs[1]];
        let logprobs = Array::floats(*of_logprob, shape, drawn.iter().map(|d| d.1).collect());
        vec![Array::ints(*of_id, shape, ids), logprobs]
    }

    /// A quotient and a logarithm in f32.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps_or(cx.out().0, 8.0, 5e-7)
    }
}
