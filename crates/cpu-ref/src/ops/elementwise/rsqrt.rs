//! `Rsqrt`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Rsqrt, ulp 2.0, |_op, x| 1.0 / x.sqrt(), slope -0.5 / x / x.sqrt());
