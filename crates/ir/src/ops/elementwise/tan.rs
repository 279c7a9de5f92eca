//! `Tan`: the tangent.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = tan x (ONNX Tan): x\[…\] → the same type. NaN at ±Inf.
    Tan tan, FLOATS, |b, x| b.tan(x), Fill::Special
}
