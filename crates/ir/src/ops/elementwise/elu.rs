//! `Elu`: an exponential bend.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = x < 0 ? α(eˣ − 1) : x (ONNX Elu): x\[…\] → the same type.
    Elu elu {
        /// Value at −Inf, negated.
        alpha: f32 = 1.0 => FINITE,
    }, FLOATS, |op, _cx, b, x| b.select(b.le(x, b.f32(0.0)), b.mul(b.f32(op.alpha), b.expm1(x)), x),
    Fill::Special, settings [Elu { alpha: 1.0 }, Elu { alpha: 0.7 }, Elu { alpha: 2.5 }, Elu { alpha: 0.0 }]
}
