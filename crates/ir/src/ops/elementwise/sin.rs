//! `Sin`: the sine.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = sin x (ONNX Sin): x\[…\] → the same type. NaN at ±Inf; any finite x is reduced exactly.
    Sin sin, FLOATS, |b, x| b.sin(x), Fill::Special
}
