//! `And`: both.

use crate::ops::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a and b with NumPy broadcasting (ONNX And): two Bool tensors → Bool.
    And and, BOOL, |b, x, y| b.and(x, y), Fill::Special
}
