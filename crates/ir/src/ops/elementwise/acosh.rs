//! `Acosh`: the inverse hyperbolic cosine.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = acosh x (ONNX Acosh): x\[…\] → the same type. NaN below 1.
    Acosh acosh, FLOATS, |b, x| b.acosh(x), Fill::Uniform(0.9, 30.0)
}
