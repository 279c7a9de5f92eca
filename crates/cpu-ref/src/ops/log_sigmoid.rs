//! `LogSigmoid`.

use super::elementwise::unary_eval;
use crate::functions::softplus;

unary_eval!(LogSigmoid, ulp 8.0, |_op, x| -softplus(-x));
