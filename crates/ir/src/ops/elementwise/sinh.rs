//! `Sinh`: the hyperbolic sine.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = sinh x (ONNX Sinh): x\[…\] → the same type.
    Sinh sinh, FLOATS, |b, x| b.sinh(x), Fill::Special
}
