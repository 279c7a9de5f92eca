//! `Atanh`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Atanh, ulp 8.0, |_op, x| x.atanh(), slope 1.0 / ((1.0 - x) * (1.0 + x)));
