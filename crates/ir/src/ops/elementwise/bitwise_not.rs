//! `BitwiseNot`: every bit turned.

use crate::ops::elementwise::unary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;

unary! {
    /// y = every bit of x turned (ONNX BitwiseNot): x\[…\] → the same type.
    BitwiseNot bitwise_not, INTS, |b, x| b.not(x), Fill::Special, duties {
        /// ~(~x) == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.undoes()
        }
    }, grad Zero
}
