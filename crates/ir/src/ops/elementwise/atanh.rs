//! `Atanh`: the inverse hyperbolic tangent.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = atanh x (ONNX Atanh): x\[…\] → the same type. ±Inf at ±1, NaN beyond.
    Atanh atanh, FLOATS, |b, x| b.atanh(x), Fill::Uniform(-1.1, 1.1)
}
