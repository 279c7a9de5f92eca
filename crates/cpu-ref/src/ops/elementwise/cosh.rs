//! `Cosh`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Cosh, ulp 8.0, |_op, x| x.cosh(), slope x.sinh());
