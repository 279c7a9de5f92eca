//! `Sqrt`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Sqrt, ulp 2.5, |_op, x| x.sqrt(), slope 0.5 / x.sqrt());
