//! `Mish`.

use super::elementwise::unary_eval;
use crate::functions::softplus;

unary_eval!(Mish, ulp 16.0, abs 1e-07, |_op, x| x * softplus(x).tanh());
