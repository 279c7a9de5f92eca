//! `HardSigmoid`: a clipped line.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = max(0, min(1, αx + β)) (ONNX HardSigmoid): x\[…\] → the same type.
    HardSigmoid hard_sigmoid {
        /// Slope.
        alpha: f32 = 0.2 => FINITE,
        /// Value at 0.
        beta: f32 = 0.5 => FINITE,
    }, FLOATS, |op, _cx, b, x| {
        let line = b.fma(x, b.f32(op.alpha), b.f32(op.beta));
        b.min(b.max(line, b.f32(0.0)), b.f32(1.0))
    },
    Fill::Special, settings [
        HardSigmoid { alpha: 0.2, beta: 0.5 },
        HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 },
        HardSigmoid { alpha: -0.3, beta: 0.25 },
        HardSigmoid { alpha: 0.0, beta: 0.5 }
    ]
}
