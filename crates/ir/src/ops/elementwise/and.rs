//! `And`: both.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;

binary! {
    /// y = a and b with NumPy broadcasting (ONNX And): two Bool tensors → Bool.
    And and, BOOL, |b, x, y| b.and(x, y), Fill::Special, duties {
        /// x and true == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.beside_neutral(|v| cx.has_bytes(v, |b| b != 0))
        }
    }
}
