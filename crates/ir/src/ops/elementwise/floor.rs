//! `Floor`: the integer below.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = ⌊x⌋ (ONNX Floor): x\[…\] → the same type. The sign of zero stays.
    Floor floor, FLOATS, |b, x| b.floor(x), Fill::Special, grad Zero
}
