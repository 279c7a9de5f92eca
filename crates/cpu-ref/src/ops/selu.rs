//! `Selu`.

use super::elementwise::unary_eval;

unary_eval!(Selu, ulp 8.0, |op, x| f64::from(op.gamma) * if x <= 0.0 { f64::from(op.alpha) * x.exp_m1() } else { x });
