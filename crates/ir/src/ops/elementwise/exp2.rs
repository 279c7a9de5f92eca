//! `Exp2`: two to the power of the value.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = 2ˣ: x\[…\] → the same type. 2^−Inf = 0; overflow gives Inf.
    Exp2 exp2, FLOATS, |b, x| b.exp2(x), Fill::Special
}
