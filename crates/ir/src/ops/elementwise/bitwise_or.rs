//! `BitwiseOr`: bits set in either.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;

binary! {
    /// y = a | b, bit by bit, with NumPy broadcasting (ONNX BitwiseOr): two tensors of one dtype → that dtype.
    BitwiseOr bitwise_or, INTS, |b, x, y| b.or(x, y), Fill::Special, duties {
        /// x | 0 == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.beside_neutral(|v| cx.is_all(v, 0.0))
        }
    }, grad Zero
}
