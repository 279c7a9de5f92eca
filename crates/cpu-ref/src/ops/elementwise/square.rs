//! `Square`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Square, ulp 0.5, |_op, x| x * x, slope 2.0 * x);
