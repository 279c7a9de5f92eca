//! `Cos`: the cosine.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = cos x (ONNX Cos): x\[…\] → the same type. NaN at ±Inf; any finite x is reduced exactly.
    Cos cos, FLOATS, |b, x| b.cos(x), Fill::Special
}
