//! `Mish`: a smooth self-gated activation.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = x·tanh(softplus x) (ONNX Mish): x\[…\] → the same type. NaN at −Inf, where it is −Inf·0.
    Mish mish, FLOATS, |b, x| b.mish(x), Fill::Special
}
