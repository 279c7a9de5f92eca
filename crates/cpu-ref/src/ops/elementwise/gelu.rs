//! `Gelu`.

use crate::functions::{erfc, gelu, gelu_tanh, sigmoid};
use crate::ops::elementwise::unary_eval;
use pumice_ir::ops::gelu::GeluForm;

unary_eval!(Gelu, ulp 12.0, abs 1e-36, |op, x| match op.approximate {
    GeluForm::Exact => gelu(x),
    GeluForm::Tanh => gelu_tanh(x),
}, slope match op.approximate {
    GeluForm::Exact => gelu_slope(x),
    GeluForm::Tanh => gelu_tanh_slope(x),
});

/// Φ + xφ.
pub(crate) fn gelu_slope(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    0.5 * erfc(-x * std::f64::consts::FRAC_1_SQRT_2) + if density == 0.0 { 0.0 } else { x * density }
}

/// s + xs(1 − s)(2u)′ for s = σ(2u), u = √(2/π)(x + 0.044715x³).
pub(crate) fn gelu_tanh_slope(x: f64) -> f64 {
    let x = x.clamp(-40.0, 40.0);
    let slope = (8.0 / std::f64::consts::PI).sqrt();
    let u = slope * (x + 0.044715 * x * x * x);
    sigmoid(u) + x * slope * (1.0 + 0.134145 * x * x) * sigmoid(u) * sigmoid(-u)
}
