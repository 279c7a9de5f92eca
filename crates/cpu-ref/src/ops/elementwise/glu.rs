//! `Glu`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::functions::{gelu, gelu_tanh, sigmoid};
use crate::index::{around, axis_of};
use crate::ops::elementwise::gelu::{gelu_slope, gelu_tanh_slope};
use crate::ops::elementwise::swish::swish_slope;
use crate::ops::elementwise::{max, min};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Glu;
use pumice_ir::ops::glu::{GluAct, GluPacking};

impl Eval for Glu {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let each = pairs(self, cx).into_iter().map(|(a, b)| act(self, a) * b);
        vec![Array::floats(dtype, shape, each.collect())]
    }

    /// The activation's 16 ULP or 1e-7 (OPS 1.3.6), times the value. The class gives at least 16·2⁻²⁴ of the magnitude,
    /// so 0.15·|B| of it is 1.4e-7·|B|.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, 2)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let one = if self.oai { 1.0 } else { 0.0 };
        let each =
            pairs(self, cx).into_iter().map(|(a, b)| (act(self, a) * b).abs() + 0.15 * (b.abs() + one));
        each.map(|m| if m.is_nan() { 0.0 } else { m }).collect()
    }

    /// By the gate the activation's slope times the value, by the value the activation; outside the limits 0.
    fn gradient(&self, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let (gate, value) = (x.first().copied().flatten()?, x.get(1).copied().flatten()?);
        let limit = self.limit.map_or(f64::INFINITY, f64::from);
        let (a, b) = (min(gate, limit), min(limit, max(value, -limit)));
        let outside = if by == 0 { gate > limit } else { value.abs() > limit };
        let b = if self.oai { b + 1.0 } else { b };
        let slope = if by == 0 { act_slope(self, a) * b } else { act(self, a) };
        Some(if outside { 0.0 } else { dy * slope })
    }
}

fn act_slope(op: &Glu, x: f64) -> f64 {
    match op.act {
        GluAct::Swish => swish_slope(x, f64::from(op.alpha)),
        GluAct::Gelu => gelu_slope(x),
        GluAct::GeluTanh => gelu_tanh_slope(x),
        GluAct::Relu => f64::from(x > 0.0),
        GluAct::Sigmoid => sigmoid(x) * sigmoid(-x),
    }
}

/// Gate and value of every element of the result, limited, the value plus 1 in that form.
fn pairs(op: &Glu, cx: &EvalCx<'_>) -> Vec<(f64, f64)> {
    let raw: Vec<(f64, f64)> = match op.packing {
        GluPacking::Two => {
            cx.arg(0).as_floats().iter().copied().zip(cx.arg(1).as_floats().iter().copied()).collect()
        }
        GluPacking::Concat => packed(op, cx.arg(0), |j, half| [j, half + j]),
        GluPacking::Interleaved => packed(op, cx.arg(0), |j, _| [2 * j, 2 * j + 1]),
    };
    let limited = raw.into_iter().map(|(a, b)| match op.limit.map(f64::from) {
        Some(limit) => (min(a, limit), min(limit, max(b, -limit))),
        None => (a, b),
    });
    limited.map(|(a, b)| (a, if op.oai { b + 1.0 } else { b })).collect()
}

/// Pairs that lie along an axis of one operand, number `j` of `half` where `places` says.
fn packed(op: &Glu, x: &Array, places: impl Fn(usize, usize) -> [usize; 2]) -> Vec<(f64, f64)> {
    let values = x.as_floats();
    let (outer, n, inner) = around(&x.shape, axis_of(op.axis, x.shape.len()));
    let half = n / 2;
    let pair = |i: usize| {
        let (o, j, c) = (i / (half * inner), i / inner % half, i % inner);
        let [gate, value] = places(j, half).map(|j| values[(o * n + j) * inner + c]);
        (gate, value)
    };
    (0..outer * half * inner).map(pair).collect()
}

fn act(op: &Glu, x: f64) -> f64 {
    match op.act {
        GluAct::Swish => x * sigmoid(f64::from(op.alpha) * x),
        GluAct::Gelu => gelu(x),
        GluAct::GeluTanh => gelu_tanh(x),
        GluAct::Relu => max(x, 0.0),
        GluAct::Sigmoid => sigmoid(x),
    }
}
