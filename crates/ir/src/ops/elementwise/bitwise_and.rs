//! `BitwiseAnd`: bits set in both.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;

binary! {
    /// y = a & b, bit by bit, with NumPy broadcasting (ONNX BitwiseAnd): two tensors of one dtype → that dtype.
    BitwiseAnd bitwise_and, INTS, |b, x, y| b.and(x, y), Fill::Special, duties {
        /// x & -1 == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.beside_neutral(|v| cx.has_bytes(v, |b| b == 255))
        }
    }, grad Zero
}
