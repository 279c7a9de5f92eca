//! `LpNormalization`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{around, axis_of};
use crate::tolerance::Tolerance;
use pumice_ir::ops::LpNormalization;
use pumice_ir::ops::lp_normalization::LengthNorm;

/// Elements before an axis, along it, after it.
fn parts(op: &LpNormalization, cx: &EvalCx<'_>) -> (usize, usize, usize) {
    let shape = &cx.arg(0).shape;
    around(shape, axis_of(op.axis, shape.len()))
}

/// The quotient of each element and its row's length.
fn quotients(op: &LpNormalization, cx: &EvalCx<'_>) -> Vec<f64> {
    let (outer, n, inner) = parts(op, cx);
    let x = cx.arg(0).as_floats();
    let length = |o: usize, i: usize| {
        let row = (0..n).map(|k| x[(o * n + k) * inner + i]);
        let length = match op.p {
            LengthNorm::L1 => row.map(f64::abs).sum::<f64>(),
            LengthNorm::L2 => row.map(|v| v * v).sum::<f64>().sqrt(),
        };
        if length < f64::from(f32::MIN_POSITIVE) { f64::from(f32::MIN_POSITIVE) } else { length }
    };
    let lengths: Vec<f64> = (0..outer * inner).map(|r| length(r / inner, r % inner)).collect();
    let of = |e: usize| lengths[e / (n * inner) * inner + e % inner];
    x.iter().enumerate().map(|(e, v)| v / of(e)).collect()
}

impl Eval for LpNormalization {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        vec![Array::floats(dtype, shape, quotients(self, cx))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, parts(self, cx).1 as u64)
    }

    /// Terms of a length have one sign: it is off by a share, and so is the quotient.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        quotients(self, cx).into_iter().map(f64::abs).collect()
    }
}
