//! `Sinh`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Sinh, ulp 8.0, |_op, x| x.sinh(), slope x.cosh());
