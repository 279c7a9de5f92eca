//! `Reciprocal`: one over the value.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = 1/x (ONNX Reciprocal): x\[…\] → the same type. ±0 gives ±Inf.
    Reciprocal reciprocal, FLOATS, |b, x| b.div(b.f32(1.0), x), Fill::Special
}
