//! `Floor`.

use crate::ops::elementwise::exact_unary_eval;

exact_unary_eval!(Floor, |_op, x| x.floor());
