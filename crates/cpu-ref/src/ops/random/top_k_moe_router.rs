//! `TopKMoeRouter`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::TopKMoeRouter;
use pumice_ir::ops::top_k_moe_router::RouterGate;
use std::cmp::Ordering;

/// The largest first, NaN above infinity, equal ones by their places.
fn descending(values: &[f64]) -> impl Fn(&usize, &usize) -> Ordering + '_ {
    |&a, &b| {
        let (x, y) = (values[a], values[b]);
        y.partial_cmp(&x).unwrap_or_else(|| y.is_nan().cmp(&x.is_nan())).then(a.cmp(&b))
    }
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let terms: Vec<f64> = x.iter().map(|v| (v - most).exp()).collect();
    let sum: f64 = terms.iter().sum();
    terms.iter().map(|t| t / sum).collect()
}

fn gated(gate: RouterGate, x: &[f64]) -> Vec<f64> {
    let each = |f: fn(f64) -> f64| x.iter().map(|&v| f(v)).collect();
    match gate {
        RouterGate::Identity => x.to_vec(),
        RouterGate::Softmax => softmax(x),
        RouterGate::Sigmoid => each(|v| 1.0 / (1.0 + (-v).exp())),
        RouterGate::SqrtSoftplus => each(|v| if v > 40.0 { v.sqrt() } else { v.exp().ln_1p().sqrt() }),
    }
}

/// Experts of the groups that compete.
fn competing(op: &TopKMoeRouter, choices: &[f64]) -> Vec<usize> {
    let size = choices.len() / op.groups as usize;
    let score = |group: &[f64]| {
        let mut order: Vec<usize> = (0..group.len()).collect();
        order.sort_by(descending(group));
        order.iter().take(2).map(|&i| group[i]).sum::<f64>()
    };
    let scores: Vec<f64> = choices.chunks(size).map(score).collect();
    let mut groups: Vec<usize> = (0..scores.len()).collect();
    groups.sort_by(descending(&scores));
    let kept = groups.into_iter().take(op.groups_kept as usize);
    kept.flat_map(|g| g * size..(g + 1) * size).collect()
}

/// What experts are chosen by, of a row's logits and scores. It is rounded to f32 as on the device; alone, logits
/// decide, which are in the scores' order.
fn choices(op: &TopKMoeRouter, logits: &[f64], scores: &[f64], bias: Option<&[f64]>) -> Vec<f64> {
    let rounded = |v: f64| f64::from(v as f32);
    match bias {
        Some(bias) => scores.iter().zip(bias).map(|(s, b)| rounded(rounded(*s) + b)).collect(),
        None if op.groups > 1 => scores.iter().map(|&s| rounded(s)).collect(),
        None => logits.to_vec(),
    }
}

/// Weights of the chosen experts, of their scores.
fn weights(op: &TopKMoeRouter, chosen: Vec<f64>) -> Vec<f64> {
    let weights = if op.after { softmax(&chosen) } else { chosen };
    let sum = if op.norm && op.k > 1 { weights.iter().sum::<f64>() + 1e-20 } else { 1.0 };
    weights.into_iter().map(|w| w / sum * f64::from(op.scale)).collect()
}

/// Experts of a row and their weights.
fn route(op: &TopKMoeRouter, logits: &[f64], bias: Option<&[f64]>) -> (Vec<f64>, Vec<i64>) {
    let scores = if op.after { logits.to_vec() } else { gated(op.gate, logits) };
    let choices = choices(op, logits, &scores, bias);
    let mut experts = if op.groups > 1 { competing(op, &choices) } else { (0..choices.len()).collect() };
    experts.sort_by(descending(&choices));
    experts.truncate(op.k as usize);
    let chosen = experts.iter().map(|&e| scores[e]).collect();
    (weights(op, chosen), experts.iter().map(|&e| e as i64).collect())
}

impl Eval for TopKMoeRouter {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let logits = cx.arg(0);
        let experts = logits.shape[1] as usize;
        let bias = cx.opt(1).map(Array::as_floats);
        let rows = logits.as_floats().chunks(experts).map(|row| route(self, row, bias));
        let (weights, ids): (Vec<_>, Vec<_>) = rows.unzip();
        let [(of_weights, shape), (of_ids, _)] = [&cx.outputs[0], &cx.outputs[1]];
        vec![Array::floats(*of_weights, shape, weights.concat()), Array::ints(*of_ids, shape, ids.concat())]
    }

    /// Exponentials, a sum of 1,024 of them at most, two quotients.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps_or(cx.out().0, 40.0, 1e-30)
    }
}
