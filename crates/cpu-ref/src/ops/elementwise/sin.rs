//! `Sin`.

use crate::ops::elementwise::unary_eval;

unary_eval!(Sin, ulp 4.0, |_op, x| x.sin(), slope x.cos());
