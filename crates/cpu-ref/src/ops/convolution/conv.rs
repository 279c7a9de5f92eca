//! `Conv`.

use super::walk::{Volume, taps, under, windows};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Conv;

impl Eval for Conv {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, sums(self, cx, |v| v))]
    }

    /// A sum over the channels of a group and the taps, and the bias.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let terms: u64 = cx.arg(1).shape[1..].iter().product();
        Tolerance::sum(cx.out().0, terms + 1)
    }

    /// Σ|term| with the bias as one term; a 16-bit sum may be rounded before the bias is added.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        with_rounding(cx, sums(self, cx, |v| v), sums(self, cx, f64::abs))
    }
}

/// What is allowed for a sum that is rounded to the result's dtype before the bias, operand 2, is added to it.
pub fn with_rounding(cx: &EvalCx<'_>, sums: Vec<f64>, mut terms: Vec<f64>) -> Vec<f64> {
    let (dtype, shape) = cx.out();
    let Some(bias) = cx.opt(2).map(Array::as_floats) else { return terms };
    let weight = Tolerance::rounding_weight(dtype) - 1.0;
    let to = Volume::of(shape);
    for ((terms, sum), (_, o, _)) in terms.iter_mut().zip(sums).zip(to.elements()) {
        *terms += (sum - bias[o]).abs() * weight;
    }
    terms
}

/// f(bias) + Σ f(x)·f(w) for every element of the result, unrounded. Outside x is 0.
fn sums(op: &Conv, cx: &EvalCx<'_>, f: impl Fn(f64) -> f64) -> Vec<f64> {
    let (x, w) = (cx.arg(0).as_floats(), cx.arg(1).as_floats());
    let bias = cx.opt(2).map(Array::as_floats);
    let (from, weights) = (Volume::of(&cx.arg(0).shape), Volume::of(&cx.arg(1).shape));
    let to = Volume::of(cx.out().1);
    let windows = windows(&op.windows(&cx.arg(1).shape[2..]).expect("inference has accepted the lists"));
    let in_group = (to.channels / op.groups as usize).max(1);
    let sum = |(b, o, position)| {
        let first = o / in_group * weights.channels;
        let mut sum = bias.map_or(0.0, |bias| f(bias[o]));
        for c in 0..weights.channels {
            for tap in taps(&windows) {
                let at = from.inside(b, first + c, under(&windows, position, tap));
                sum += f(at.map_or(0.0, |at| x[at])) * f(w[weights.at(o, c, tap)]);
            }
        }
        sum
    };
    to.elements().map(sum).collect()
}
