//! `BitwiseOr`: bits set in either.

use crate::ops::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a | b, bit by bit, with NumPy broadcasting (ONNX BitwiseOr): two tensors of one dtype → that dtype.
    BitwiseOr bitwise_or, INTS, |b, x, y| b.or(x, y), Fill::Special
}
