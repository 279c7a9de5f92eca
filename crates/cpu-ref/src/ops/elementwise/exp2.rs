//! `Exp2`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Exp2, ulp 4.0, |_op, x| x.exp2(), slope x.exp2() * std::f64::consts::LN_2);
