//! `Softsign`: a rational sigmoid.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = x/(1 + |x|) (ONNX Softsign): x\[…\] → the same type. NaN at ±Inf, where it is Inf/Inf.
    Softsign softsign, FLOATS, |b, x| b.div(x, b.add(b.f32(1.0), b.abs(x))), Fill::Special
}
