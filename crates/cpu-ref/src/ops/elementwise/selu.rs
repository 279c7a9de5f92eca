//! `Selu`.

use crate::ops::elementwise::unary_eval;
use pumice_ir::ops::Selu;

unary_eval!(Selu, ulp 8.0, |op, x| selu(op, x), slope f64::from(op.gamma) * if x <= 0.0 { f64::from(op.alpha) * x.exp() } else { 1.0 });

fn selu(op: &Selu, x: f64) -> f64 {
    let (alpha, gamma) = (f64::from(op.alpha), f64::from(op.gamma));
    gamma * if x <= 0.0 { alpha * x.exp_m1() } else { x }
}
