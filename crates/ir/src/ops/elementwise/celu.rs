//! `Celu`: an exponential bend that stays smooth.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = max(0, x) + min(0, α(e^(x/α) − 1)) (ONNX Celu): x\[…\] → the same type.
    Celu celu {
        /// Where the bend ends; not 0.
        alpha: f32 = 1.0 => FINITE,
    }, FLOATS, |op, _cx, b, x| {
        let alpha = b.f32(op.alpha);
        let below = b.mul(alpha, b.expm1(b.div(x, alpha)));
        b.select(b.le(x, b.f32(0.0)), below, x)
    },
    Fill::Special, settings [Celu { alpha: 1.0 }, Celu { alpha: 0.5 }, Celu { alpha: 3.0 }],
    refuses |op| op.alpha == 0.0 => ("alpha", "it is a divisor and must not be 0")
}
