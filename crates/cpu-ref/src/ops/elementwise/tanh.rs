//! `Tanh`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Tanh, ulp 8.0, |_op, x| x.tanh(), slope 1.0 / x.cosh() / x.cosh());
