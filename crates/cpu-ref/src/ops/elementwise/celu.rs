//! `Celu`.

use crate::ops::elementwise::{max, min, unary_eval};
use pumice_ir::ops::Celu;

unary_eval!(Celu, ulp 8.0, |op, x| celu(op, x), slope if x <= 0.0 { (x / f64::from(op.alpha)).exp() } else { 1.0 });

fn celu(op: &Celu, x: f64) -> f64 {
    let alpha = f64::from(op.alpha);
    max(0.0, x) + min(0.0, alpha * (x / alpha).exp_m1())
}
