//! `Mul`.

use crate::ops::elementwise::binary_eval;

binary_eval!(Mul, ulp 0.5, |x, y| x * y, int |_d, i, j| i.wrapping_mul(j), slopes y, x);
