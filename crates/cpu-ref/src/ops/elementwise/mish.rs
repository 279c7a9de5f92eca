//! `Mish`.

use crate::functions::{sigmoid, softplus};
use crate::ops::elementwise::unary_eval;

unary_eval!(Mish, ulp 16.0, abs 1e-07, |_op, x| x * softplus(x).tanh(), slope mish_slope(x));

/// T + xσ(1 − T²) for T = tanh softplus x.
fn mish_slope(x: f64) -> f64 {
    let s = softplus(x);
    let bend = 1.0 / s.cosh() / s.cosh();
    s.tanh() + if bend == 0.0 { 0.0 } else { x * sigmoid(x) * bend }
}
