//! `Expm1`: the exponential less one.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = eˣ − 1, accurate near 0: x\[…\] → the same type.
    Expm1 expm1, FLOATS, |b, x| b.expm1(x), Fill::Special
}
