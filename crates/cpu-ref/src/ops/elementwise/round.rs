//! `Round`.

use crate::ops::elementwise::exact_unary_eval;

exact_unary_eval!(Round, |_op, x| x.round_ties_even());
