//! `Add`: the sum of two tensors.

use super::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a + b with NumPy broadcasting (ONNX Add); integers wrap.
    Add add, NUMERIC, |b, x, y| b.add(x, y), Fill::Special
}
