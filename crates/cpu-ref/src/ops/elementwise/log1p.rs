//! `Log1p`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Log1p, ulp 4.0, |_op, x| x.ln_1p(), slope 1.0 / (1.0 + x));
