//! `Exp`: the exponential.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = eˣ (ONNX Exp): x\[…\] → the same type. e^−Inf = 0; overflow gives Inf.
    Exp exp, FLOATS, |b, x| b.exp(x), Fill::Special
}
