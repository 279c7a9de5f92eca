//! `Selu`: a scaled exponential bend.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = γ(x > 0 ? x : α(eˣ − 1)) (ONNX Selu): x\[…\] → the same type.
    Selu selu {
        /// Factor of the exponential side.
        alpha: f32 = 1.673_263_2 => FINITE,
        /// Factor of both sides.
        gamma: f32 = 1.050_701 => FINITE,
    }, FLOATS, |op, _cx, b, x| {
        let below = b.mul(b.f32(op.alpha), b.expm1(x));
        b.mul(b.f32(op.gamma), b.select(b.le(x, b.f32(0.0)), below, x))
    },
    Fill::Special, settings [Selu { alpha: 1.673_263_2, gamma: 1.050_701 }, Selu { alpha: 0.5, gamma: 2.0 },
        Selu { alpha: 0.0, gamma: 1.0 }, Selu { alpha: 1.0, gamma: 0.0 }]
}
