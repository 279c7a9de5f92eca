//! `Abs`.

use crate::ops::elementwise::exact_unary_eval;

exact_unary_eval!(Abs, |_op, x| x.abs(), int | d, i | if d.is_signed() { i.wrapping_abs() } else { i }, slope if x == 0.0 { 0.0 } else { x.signum() });
