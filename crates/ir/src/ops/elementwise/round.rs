//! `Round`: the nearest integer.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = x to the nearest integer, halves to even (ONNX Round): x\[…\] → the same type. The sign of zero stays.
    Round round, FLOATS, |b, x| b.round_even(x), Fill::Special, grad Zero
}
