//! `BitwiseNot`.

use crate::ops::elementwise::exact_unary_eval;

exact_unary_eval!(BitwiseNot, |_op, x| x, int | _d, i | !i);
