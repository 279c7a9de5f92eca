//! `Sub`: the difference.

use super::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a − b with NumPy broadcasting (ONNX Sub): two tensors of one dtype → that dtype. Integers wrap.
    Sub sub, NUMERIC, |b, x, y| b.sub(x, y), Fill::Special
}
