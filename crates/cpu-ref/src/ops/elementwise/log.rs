//! `Log`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Log, ulp 4.0, |_op, x| if x < 0.0 { f64::NAN } else { x.abs().ln() }, slope 1.0 / x);
