//! `Softplus`.

use crate::functions::{sigmoid, softplus};
use crate::ops::elementwise::unary_eval;

unary_eval!(Softplus, ulp 8.0, |_op, x| softplus(x), slope sigmoid(x));
