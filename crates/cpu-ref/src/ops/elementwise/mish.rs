//! `Mish`.

use crate::functions::softplus;
use crate::ops::elementwise::unary_eval;

unary_eval!(Mish, ulp 16.0, abs 1e-07, |_op, x| x * softplus(x).tanh());
