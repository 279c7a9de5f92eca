//! `Softplus`: a smooth positive part.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = max(x, 0) + ln(1 + e^(−|x|)) (ONNX Softplus): x\[…\] → the same type.
    Softplus softplus, FLOATS, |b, x| b.softplus(x), Fill::Special
}
