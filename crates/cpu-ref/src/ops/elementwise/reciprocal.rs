//! `Reciprocal`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Reciprocal, ulp 2.5, |_op, x| 1.0 / x, slope -1.0 / x / x);
