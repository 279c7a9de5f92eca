//! `Not`: logical negation.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = not x (ONNX Not): bool\[…\] → bool\[…\].
    Not not, BOOL, |b, x| b.not(x), Fill::Special
}
