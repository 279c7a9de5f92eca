//! `Asin`: the arc sine.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = asin x (ONNX Asin): x\[…\] → the same type. NaN outside −1..=1.
    Asin asin, FLOATS, |b, x| b.asin(x), Fill::Uniform(-1.1, 1.1)
}
