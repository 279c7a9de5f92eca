//! `ThresholdedRelu`: values above a threshold.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;

unary_with! {
    /// y = x > α ? x : 0 (ONNX ThresholdedRelu): x\[…\] → the same type. NaN stays NaN.
    ThresholdedRelu thresholded_relu {
        /// The threshold.
        alpha: f32 = 1.0 => FINITE,
    }, FLOATS, |op, _cx, b, x| b.select(b.le(x, b.f32(op.alpha)), b.f32(0.0), x),
    Fill::Special, settings [ThresholdedRelu { alpha: 1.0 }, ThresholdedRelu { alpha: -0.5 }]
}
