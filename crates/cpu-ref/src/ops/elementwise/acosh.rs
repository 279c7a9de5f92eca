//! `Acosh`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Acosh, ulp 8.0, |_op, x| x.acosh(), slope 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt()));
