//! `Exp`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Exp, ulp 4.0, |_op, x| x.exp(), slope x.exp());
