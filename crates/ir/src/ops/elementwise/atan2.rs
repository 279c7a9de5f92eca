//! `Atan2`: the angle of a point.

use crate::ops::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = the angle of the point (b, a), in −π..=π, with NumPy broadcasting: two tensors of one dtype → that dtype.
    Atan2 atan2, FLOATS, |b, x, y| b.atan2(x, y), Fill::Special
}
