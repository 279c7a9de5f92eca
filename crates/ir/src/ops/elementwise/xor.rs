//! `Xor`: one and not the other.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;

binary! {
    /// y = a or b but not both, with NumPy broadcasting (ONNX Xor): two Bool tensors → Bool.
    Xor xor, BOOL, |b, x, y| b.xor(x, y), Fill::Special, duties {
        /// x xor false == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.beside_neutral(|v| cx.is_all(v, 0.0))
        }
    }, grad Zero
}
