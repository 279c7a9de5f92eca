//! `Asin`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Asin, ulp 8.0, |_op, x| x.asin(), slope 1.0 / ((1.0 - x) * (1.0 + x)).sqrt());
