//! `Asinh`: the inverse hyperbolic sine.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = asinh x (ONNX Asinh): x\[…\] → the same type.
    Asinh asinh, FLOATS, |b, x| b.asinh(x), Fill::Special
}
