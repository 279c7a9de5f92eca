//! `Affine`: a line with constant coefficients.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = mul·x + add, in f32: x\[…\] → the same type.
    Affine affine {
        /// The factor.
        mul: f32 = 1.0 => ANY,
        /// The summand.
        add: f32 = 0.0 => ANY,
    }, FLOATS, |op, _cx, b, x| b.fma(x, b.f32(op.mul), b.f32(op.add)),
    Fill::Special, settings [
        Affine { mul: 0.5, add: 3.0 }, Affine { mul: 1.0, add: 0.0 }, Affine { mul: -2.25, add: 1e-3 },
        Affine { mul: 0.0, add: 1.0 }, Affine { mul: 0.0, add: 0.0 }
    ]
}
