//! `BitwiseXor`: bits set in one.

use crate::ops::elementwise::binary;
use crate::ops::{NodeCx, Simpler};
use crate::sample::Fill;

binary! {
    /// y = a ^ b, bit by bit, with NumPy broadcasting (ONNX BitwiseXor): two tensors of one dtype → that dtype.
    BitwiseXor bitwise_xor, INTS, |b, x, y| b.xor(x, y), Fill::Special, duties {
        /// x ^ 0 == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.beside_neutral(|v| cx.is_all(v, 0.0))
        }
    }, grad Zero
}
