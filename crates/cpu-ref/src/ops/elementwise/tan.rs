//! `Tan`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Tan, ulp 8.0, |_op, x| x.tan(), slope 1.0 / x.cos() / x.cos());
