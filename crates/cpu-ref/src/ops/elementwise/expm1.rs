//! `Expm1`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Expm1, ulp 4.0, |_op, x| x.exp_m1(), slope x.exp());
