//! `Less`: smaller.

use crate::ops::elementwise::binary;
use crate::ops::elementwise::samples::compare_more;
use crate::sample::Fill;

binary! {
    /// y = a < b with NumPy broadcasting (ONNX Less): two tensors of one dtype → Bool. False with NaN, zeros are
    /// equal, 64-bit integers are compared as such.
    Less less, NUMERIC -> Bool, |b, x, y| b.lt(x, y), Fill::Special, also || compare_more(|g, x, y| g.less(x, y))
}
