//! `Swish`: a self-gated activation.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = x·sigmoid(αx) (ONNX Swish): x\[…\] → the same type. NaN at −Inf, where it is −Inf·0.
    Swish swish {
        /// Steepness; 1 is SiLU, 1.702 QuickGELU.
        alpha: f32 = 1.0 => FINITE,
    }, FLOATS, |op, _cx, b, x| b.swish(x, op.alpha),
    Fill::Special, settings [Swish { alpha: 1.0 }, Swish { alpha: 1.702 }, Swish { alpha: -0.5 }, Swish { alpha: 0.0 }]
}

impl crate::builder::GraphBuilder {
    /// x·sigmoid(x): x\[…\] → the same type.
    #[track_caller]
    pub fn silu(&self, x: crate::builder::Value) -> crate::builder::Value {
        self.swish(x, 1.0)
    }
}
