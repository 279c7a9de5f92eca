//! `BitwiseNot`: every bit turned.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = every bit of x turned (ONNX BitwiseNot): x\[…\] → the same type.
    BitwiseNot bitwise_not, INTS, |b, x| b.not(x), Fill::Special
}
