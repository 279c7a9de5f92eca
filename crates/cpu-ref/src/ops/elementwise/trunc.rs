//! `Trunc`.

use crate::ops::elementwise::exact_unary_eval;

exact_unary_eval!(Trunc, |_op, x| x.trunc());
