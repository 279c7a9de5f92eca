//! `Swish`.

use crate::functions::sigmoid;
use crate::ops::elementwise::unary_eval;

unary_eval!(Swish, ulp 8.0, abs 1e-35, |op, x| x * sigmoid(f64::from(op.alpha) * x));
