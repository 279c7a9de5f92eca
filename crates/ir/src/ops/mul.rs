//! `Mul`: the product, element by element.

use super::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a·b with NumPy broadcasting (ONNX Mul): two tensors of one dtype → that dtype. Integers wrap.
    Mul mul, NUMERIC, |b, x, y| b.mul(x, y), Fill::Special
}
