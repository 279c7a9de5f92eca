//! `Or`: either.

use crate::ops::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a or b with NumPy broadcasting (ONNX Or): two Bool tensors → Bool.
    Or or, BOOL, |b, x, y| b.or(x, y), Fill::Special
}
