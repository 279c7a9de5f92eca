//! `Celu`.

use super::elementwise::{max, min, unary_eval};

unary_eval!(Celu, ulp 8.0, |op, x| max(0.0, x) + min(0.0, f64::from(op.alpha) * (x / f64::from(op.alpha)).exp_m1()));
