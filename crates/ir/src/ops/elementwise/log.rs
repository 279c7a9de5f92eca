//! `Log`: the natural logarithm.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = ln x (ONNX Log): x\[…\] → the same type. ln ±0 = −Inf; NaN below zero.
    Log log, FLOATS, |b, x| b.log(x), Fill::Special
}
