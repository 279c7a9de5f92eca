//! `Sigmoid`: the logistic function.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = 1/(1 + e⁻ˣ) (ONNX Sigmoid): x\[…\] → the same type. 0 and 1 at ∓Inf.
    Sigmoid sigmoid, FLOATS, |b, x| b.sigmoid(x), Fill::Special
}
