//! `Rsqrt`: one over the square root.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = 1/√x: x\[…\] → the same type. ±0 gives ±Inf; NaN below zero.
    Rsqrt rsqrt, FLOATS, |b, x| b.rsqrt(x), Fill::Special
}
