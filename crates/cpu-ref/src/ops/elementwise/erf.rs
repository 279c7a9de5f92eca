//! `Erf`.

use crate::functions::erf;
use crate::ops::elementwise::unary_eval;

unary_eval!(Erf, ulp 8.0, |_op, x| erf(x), slope std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp());
