//! `Erf`: the error function.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = 2/√π ∫₀ˣ e^(−t²) dt (ONNX Erf): x\[…\] → the same type. ±1 at ±Inf.
    Erf erf, FLOATS, |b, x| b.erf(x), Fill::Special
}
