//! `Swish`.

use super::elementwise::unary_eval;
use crate::functions::sigmoid;

unary_eval!(Swish, ulp 8.0, abs 1e-35, |op, x| x * sigmoid(f64::from(op.alpha) * x));
