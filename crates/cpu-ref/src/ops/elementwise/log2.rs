//! `Log2`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Log2, ulp 4.0, |_op, x| if x < 0.0 { f64::NAN } else { x.abs().log2() }, slope 1.0 / x / std::f64::consts::LN_2);
