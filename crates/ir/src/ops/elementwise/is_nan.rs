//! `IsNan`: whether a value is NaN.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = whether x is NaN (ONNX IsNaN): x\[…\] → bool\[…\].
    IsNan is_nan, FLOATS -> Bool, |b, x| b.is_nan(x), Fill::Special, grad Zero
}
