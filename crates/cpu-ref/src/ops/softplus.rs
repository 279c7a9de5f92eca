//! `Softplus`.

use super::elementwise::unary_eval;
use crate::functions::softplus;

unary_eval!(Softplus, ulp 8.0, |_op, x| softplus(x));
