//! `LessOrEqual`: smaller or equal.

use crate::ops::elementwise::binary;
use crate::ops::elementwise::samples::compare_more;
use crate::sample::Fill;

binary! {
    /// y = a ≤ b with NumPy broadcasting (ONNX LessOrEqual): two tensors of one dtype → Bool. False with NaN, zeros are
    /// equal, 64-bit integers are compared as such.
    LessOrEqual less_or_equal, NUMERIC -> Bool, |b, x, y| b.le(x, y), Fill::Special, also || compare_more(|g, x, y| g.less_or_equal(x, y))
}
