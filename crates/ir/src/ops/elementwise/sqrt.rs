//! `Sqrt`: the square root.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = √x (ONNX Sqrt): x\[…\] → the same type. √−0 = −0; NaN below zero.
    Sqrt sqrt, FLOATS, |b, x| b.sqrt(x), Fill::Special
}
