//! `Neg`.

use crate::ops::elementwise::exact_unary_eval;

exact_unary_eval!(Neg, |_op, x| -x, int | _d, i | i.wrapping_neg(), slope f64::from(-1i8));
