//! `Cosh`: the hyperbolic cosine.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = cosh x (ONNX Cosh): x\[…\] → the same type.
    Cosh cosh, FLOATS, |b, x| b.cosh(x), Fill::Special
}
