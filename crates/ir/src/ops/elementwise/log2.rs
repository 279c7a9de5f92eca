//! `Log2`: the binary logarithm.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = log₂ x: x\[…\] → the same type. ±0 gives −Inf; NaN below zero.
    Log2 log2, FLOATS, |b, x| b.log2(x), Fill::Special
}
