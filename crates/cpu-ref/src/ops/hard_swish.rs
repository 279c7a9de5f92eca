//! `HardSwish`.

use super::elementwise::{max, min, unary_eval};

unary_eval!(HardSwish, ulp 2.0, abs 1e-6, |op, x| x * min(1.0, max(0.0, f64::from(op.alpha) * x + f64::from(op.beta))));
