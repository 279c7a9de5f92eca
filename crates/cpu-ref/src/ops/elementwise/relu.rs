//! `Relu`.

use crate::ops::elementwise::{max, unary_eval};

unary_eval!(Relu, ulp 0.5, |_op, x| max(x, 0.0), slope f64::from(x > 0.0));
