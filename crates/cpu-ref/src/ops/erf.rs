//! `Erf`.

use super::elementwise::unary_eval;
use crate::functions::erf;

unary_eval!(Erf, ulp 8.0, |_op, x| erf(x));
