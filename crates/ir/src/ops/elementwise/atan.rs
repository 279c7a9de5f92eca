//! `Atan`: the arc tangent.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = atan x (ONNX Atan): x\[…\] → the same type. ±π/2 at ±Inf.
    Atan atan, FLOATS, |b, x| b.atan(x), Fill::Special
}
