//! `Sigmoid`.

use crate::functions::sigmoid;
use crate::ops::elementwise::unary_eval;

unary_eval!(Sigmoid, ulp 8.0, |_op, x| sigmoid(x), slope sigmoid(x) * sigmoid(-x));
