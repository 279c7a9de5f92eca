//! `Atan`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Atan, ulp 8.0, |_op, x| x.atan());
