//! `Abs`: the magnitude.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = |x| (ONNX Abs): x\[…\] → the same type. The sign of zero is cleared, INT_MIN stays INT_MIN.
    Abs abs, NUMERIC, |b, x| b.abs(x), Fill::Special
}
