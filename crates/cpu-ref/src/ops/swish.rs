//! `Swish`.

use super::elementwise::unary_eval;
use crate::functions::sigmoid;

unary_eval!(Swish, ulp 16.0, abs 1e-7, |op, x| x * sigmoid(f64::from(op.alpha) * x));
