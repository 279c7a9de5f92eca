//! `Rsqrt`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Rsqrt, ulp 2.0, |_op, x| 1.0 / x.sqrt());
