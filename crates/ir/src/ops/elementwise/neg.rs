//! `Neg`: the value with its sign turned.

use crate::ops::elementwise::unary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;

unary! {
    /// y = −x (ONNX Neg): x\[…\] → the same type. The sign of zero and NaN flips; integers wrap, so INT_MIN stays INT_MIN.
    Neg neg, NUMERIC, |b, x| b.neg(x), Fill::Special, duties {
        /// -(-x) == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.undoes()
        }
    }
}
