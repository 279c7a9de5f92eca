//! `Shrink`: values pulled toward zero.

use crate::ops::elementwise::unary_with;
use crate::sample::Fill;
use pumice_types::scalar::RegType;

unary_with! {
    /// y = x < −λ ? x + bias : x > λ ? x − bias : 0 (ONNX Shrink): x\[…\] → the same type. NaN gives 0. For integers the
    /// comparison is in f32 and the bias is truncated.
    Shrink shrink {
        /// λ.
        lambd: f32 = 0.5 => FINITE,
        /// What is taken off.
        bias: f32 = 0.0 => FINITE,
    }, NUMERIC, |op, _cx, b, x| {
        let v = b.convert(x, RegType::F32);
        let bias = if x.ty() == RegType::F32 { b.f32(op.bias) } else { b.number(x.ty(), op.bias as i64) };
        let above = b.select(b.gt(v, b.f32(op.lambd)), b.sub(x, bias), b.number(x.ty(), 0));
        b.select(b.lt(v, b.f32(-op.lambd)), b.add(x, bias), above)
    },
    Fill::Special, settings [
        Shrink { lambd: 0.5, bias: 0.0 }, Shrink { lambd: 1.5, bias: 1.5 }, Shrink { lambd: 3.0, bias: -2.0 }
    ]
}
