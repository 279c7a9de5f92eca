//! `Not`: logical negation.

use crate::ops::elementwise::unary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;

unary! {
    /// y = not x (ONNX Not): bool\[…\] → bool\[…\].
    Not not, BOOL, |b, x| b.not(x), Fill::Special, duties {
        /// !(!x) == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.undoes()
        }
    }
}
