//! `Asinh`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Asinh, ulp 8.0, |_op, x| x.asinh(), slope 1.0 / x.hypot(1.0));
