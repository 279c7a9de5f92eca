//! `Asinh`: the inverse hyperbolic sine.

use super::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = asinh x (ONNX Asinh): x\[…\] → the same type.
    Asinh asinh, FLOATS, |b, x| b.asinh(x), Fill::Special
}
