//! `LeakyRelu`: a line with a bend.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = x ≥ 0 ? x : αx (ONNX LeakyRelu): x\[…\] → the same type.
    LeakyRelu leaky_relu {
        /// Slope below 0.
        alpha: f32 = 0.01 => FINITE,
    }, FLOATS, |op, _cx, b, x| b.select(b.le(x, b.f32(0.0)), b.mul(b.f32(op.alpha), x), x),
    Fill::Special, settings [
        LeakyRelu { alpha: 0.01 }, LeakyRelu { alpha: 0.3 }, LeakyRelu { alpha: -1.5 }, LeakyRelu { alpha: 0.0 }
    ]
}
