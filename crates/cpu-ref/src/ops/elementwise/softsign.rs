//! `Softsign`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Softsign, ulp 4.0, |_op, x| x / (1.0 + x.abs()));
