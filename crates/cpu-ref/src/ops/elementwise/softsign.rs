//! `Softsign`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Softsign, ulp 4.0, |_op, x| x / (1.0 + x.abs()), slope 1.0 / (1.0 + x.abs()) / (1.0 + x.abs()));
