//! `Relu`: the positive part.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = max(x, 0) (ONNX Relu): x\[…\] → the same type. NaN stays NaN.
    Relu relu, FLOATS, |b, x| b.max(x, b.f32(0.0)), Fill::Special
}
