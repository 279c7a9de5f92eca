//! `Add`.

use crate::ops::elementwise::binary_eval;

binary_eval!(Add, ulp 0.5, |x, y| x + y, int |_d, i, j| i.wrapping_add(j), slopes 1.0, 1.0);
