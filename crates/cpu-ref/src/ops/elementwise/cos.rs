//! `Cos`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Cos, ulp 4.0, |_op, x| x.cos(), slope -x.sin());
