//! `PowScalar`: a power with a constant exponent.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = xᵉ by the rules of Pow: x\[…\] → the same type. Exponents 2, ½ and −1 are special forms with equal results.
    PowScalar pow_scalar {
        /// The exponent.
        exponent: f32 => ANY,
    }, FLOATS, |op, _cx, b, x| match op.exponent {
        1.0 => x,
        2.0 => b.mul(x, x),
        -1.0 => b.div(b.f32(1.0), x),
        e => b.pow(x, b.f32(e)),
    },
    Fill::Special, settings [
        PowScalar { exponent: 3.0 }, PowScalar { exponent: 2.0 }, PowScalar { exponent: 0.5 },
        PowScalar { exponent: -1.0 }, PowScalar { exponent: 0.0 }, PowScalar { exponent: -2.5 },
        PowScalar { exponent: 1.0 }
    ]
}
