//! `Swish`.

use crate::functions::sigmoid;
use crate::ops::elementwise::unary_eval;

unary_eval!(Swish, ulp 8.0, abs 1e-35, |op, x| x * sigmoid(f64::from(op.alpha) * x), slope swish_slope(x, f64::from(op.alpha)));

/// σ(αx) + αxσ(αx)σ(−αx).
pub(crate) fn swish_slope(x: f64, alpha: f64) -> f64 {
    let u = alpha * x;
    let bell = sigmoid(u) * sigmoid(-u);
    sigmoid(u) + if bell == 0.0 { 0.0 } else { u * bell }
}
