//! `Tanh`: the hyperbolic tangent.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = tanh x (ONNX Tanh): x\[…\] → the same type. ±1 at ±Inf.
    Tanh tanh, FLOATS, |b, x| b.tanh(x), Fill::Special
}
