//! `Log1p`: the logarithm of one more.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = ln(1 + x), accurate near 0: x\[…\] → the same type. −1 gives −Inf; NaN below.
    Log1p log1p, FLOATS, |b, x| b.log1p(x), Fill::Special
}
