//! `Square`: the value times itself.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = x²: x\[…\] → the same type.
    Square square, FLOATS, |b, x| b.mul(x, x), Fill::Special
}
