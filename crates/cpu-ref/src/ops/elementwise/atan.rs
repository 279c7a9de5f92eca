//! `Atan`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Atan, ulp 8.0, |_op, x| x.atan(), slope 1.0 / (1.0 + x * x));
