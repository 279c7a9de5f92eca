//! `Trunc`: the integer toward zero.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = x without its fraction: x\[…\] → the same type. The sign of zero stays.
    Trunc trunc, FLOATS, |b, x| b.trunc(x), Fill::Special, grad Zero
}
