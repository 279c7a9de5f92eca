//! `LogSigmoid`: the logarithm of the logistic function.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = −softplus(−x): x\[…\] → the same type.
    LogSigmoid log_sigmoid, FLOATS, |b, x| b.log_sigmoid(x), Fill::Special
}
