//! The rule of gradients of `Fft`, which is linear: the transform with the other sign of the exponent and the same
//! factor, hence with `norm` the other way round.
//!
//! With F that transform of length N: dx is the first values of F(dy), or zeros beyond N where x has more than N; of a
//! real x the real parts, of one side of a spectrum dy with zeros in the place of the other side. Back from one side,
//! where dy is real: dX_k = w_k·F(dy)_k, k ≤ N/2, with w = 1 for k = 0 and k = N/2, else 2, since X_k stands for
//! X_{N−k}, too.

use super::fft::{Fft, FftNorm};
use crate::builder::{GraphBuilder, Value};
use crate::infer::normalize_axis;
use crate::ops::{GradCx, Grads, NoGrad};
use pumice_types::{DType, DimExpr};

/// The gradient of x.
pub(super) fn rule(op: &Fft, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![cx.wanted(0, || of_x(op, cx))])
}

fn of_x(op: &Fft, cx: &GradCx<'_>) -> Value {
    let (dy, shape) = (cx.dy(), cx.shape(cx.x(0)));
    let axis = normalize_axis(op.axis, shape.len()).unwrap_or(0);
    let back = other_way(op, axis);
    let parts = match (op.inverse, op.onesided) {
        (true, true) => to_one_side(cx, dy, back, axis),
        (_, false) => of_kind(cx, cx.g.fft(dy, back)),
        (false, true) => {
            let whole = resized(cx, dy, axis, &op.length(&shape[axis]));
            of_kind(cx, cx.g.fft(whole, back))
        }
    };
    resized(cx, parts, axis, &shape[axis])
}

/// The transform of dy on one side of its spectrum, weighed.
fn to_one_side(cx: &GradCx<'_>, dy: Value, back: Fft, axis: usize) -> Value {
    let half = cx.g.fft(dy, Fft { onesided: true, ..back });
    cx.g.mul(half, weights(cx, half, axis))
}

/// A transform, or its real parts where x is real.
fn of_kind(cx: &GradCx<'_>, whole: Value) -> Value {
    let shape = cx.shape(cx.x(0));
    let last = shape.len().saturating_sub(1);
    if shape[last].is(1) { cx.g.narrow(whole, last as i64, 0, 1) } else { whole }
}

/// The transform of the other sign and of the same factor, of a whole spectrum.
fn other_way(op: &Fft, axis: usize) -> Fft {
    let norm = match op.norm {
        FftNorm::Backward => FftNorm::Forward,
        FftNorm::Ortho => FftNorm::Ortho,
        FftNorm::Forward => FftNorm::Backward,
    };
    Fft { axis: axis as i64, inverse: !op.inverse, onesided: false, dft_length: None, norm }
}

/// For how many values of the whole spectrum each one of a side stands: 1 or 2, along the axis.
fn weights(cx: &GradCx<'_>, half: Value, axis: usize) -> Value {
    let (g, ty) = (cx.g, cx.ty(half));
    let n = g.extent(cx.y(0), axis as i64);
    let k = g.range(0u64, ty.shape[axis].clone(), 1, DType::I32);
    let alone = g.or(g.equal(k, g.constant_scalar(DType::I32, 0.0)), g.equal(g.add(k, k), n));
    let [one, two] = [1.0, 2.0].map(|w| g.constant_scalar(ty.dtype(), w));
    let after: Vec<i64> = (1..(ty.rank() - axis) as i64).collect();
    g.unsqueeze(g.select(alone, one, two), &after)
}

/// The first values along the axis, and zeros up to that extent.
fn resized(cx: &GradCx<'_>, x: Value, axis: usize, to: &DimExpr) -> Value {
    let g: &GraphBuilder = cx.g;
    let ty = cx.ty(x);
    let mut shape = ty.shape.to_vec();
    let kept = shape[axis].min_with(to);
    let cut = if kept == shape[axis] { x } else { g.narrow(x, axis as i64, 0, kept.clone()) };
    if kept == *to {
        return cut;
    }
    shape[axis] = to - &kept;
    g.concat(&[cut, g.expand_to(g.constant_scalar(ty.dtype(), 0.0), shape)], axis as i64)
}
