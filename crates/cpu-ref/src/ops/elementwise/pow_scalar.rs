//! `PowScalar`.

use crate::ops::elementwise::unary_eval;

unary_eval!(PowScalar, ulp 16.0, |op, x| x.powf(f64::from(op.exponent)));
