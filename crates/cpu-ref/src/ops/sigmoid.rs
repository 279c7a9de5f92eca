//! `Sigmoid`.

use super::elementwise::unary_eval;
use crate::functions::sigmoid;

unary_eval!(Sigmoid, ulp 8.0, |_op, x| sigmoid(x));
