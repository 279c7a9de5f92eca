//! `BitwiseAnd`: bits set in both.

use crate::ops::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a & b, bit by bit, with NumPy broadcasting (ONNX BitwiseAnd): two tensors of one dtype → that dtype.
    BitwiseAnd bitwise_and, INTS, |b, x, y| b.and(x, y), Fill::Special
}
