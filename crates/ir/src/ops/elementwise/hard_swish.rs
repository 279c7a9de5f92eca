//! `HardSwish`: a clipped self-gated activation.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = x·max(0, min(1, αx + β)) (ONNX HardSwish): x\[…\] → the same type.
    HardSwish hard_swish {
        /// Slope of the gate.
        alpha: f32 = 1.0 / 6.0 => FINITE,
        /// Gate at 0.
        beta: f32 = 0.5 => FINITE,
    }, FLOATS, |op, _cx, b, x| {
        let line = b.fma(x, b.f32(op.alpha), b.f32(op.beta));
        b.mul(x, b.min(b.max(line, b.f32(0.0)), b.f32(1.0)))
    },
    Fill::Special, settings [HardSwish { alpha: 1.0 / 6.0, beta: 0.5 }, HardSwish { alpha: 0.25, beta: 0.25 },
        HardSwish { alpha: 0.0, beta: 0.5 }]
}
