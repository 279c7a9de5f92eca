//! `Acos`: the arc cosine.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = acos x (ONNX Acos): x\[…\] → the same type. NaN outside −1..=1.
    Acos acos, FLOATS, |b, x| b.acos(x), Fill::Uniform(-1.1, 1.1)
}
