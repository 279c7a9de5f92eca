//! `Elu`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Elu, ulp 8.0, |op, x| if x < 0.0 { f64::from(op.alpha) * x.exp_m1() } else { x }, slope if x <= 0.0 { f64::from(op.alpha) * x.exp() } else { 1.0 });
