//! `Ceil`.

use crate::ops::elementwise::exact_unary_eval;

exact_unary_eval!(Ceil, |_op, x| x.ceil());
