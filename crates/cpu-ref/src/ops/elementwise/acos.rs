//! `Acos`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Acos, ulp 8.0, |_op, x| x.acos(), slope -1.0 / ((1.0 - x) * (1.0 + x)).sqrt());
