//! `Xor`: one and not the other.

use crate::ops::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a or b but not both, with NumPy broadcasting (ONNX Xor): two Bool tensors → Bool.
    Xor xor, BOOL, |b, x, y| b.xor(x, y), Fill::Special
}
