//! `HardSigmoid`.

use super::elementwise::{max, min, unary_eval};

unary_eval!(HardSigmoid, ulp 2.0, abs 2e-7 * f64::from(op.beta.abs().max(1.0)), |op, x| min(1.0, max(0.0, f64::from(op.alpha) * x + f64::from(op.beta))));
