//! `Not`.

use crate::ops::elementwise::exact_unary_eval;

exact_unary_eval!(Not, |_op, x| x, int | _d, i | i64::from(i == 0));
