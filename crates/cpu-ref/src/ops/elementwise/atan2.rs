//! `Atan2`.

use crate::ops::elementwise::binary_eval;

binary_eval!(Atan2, ulp 8.0, |x, y| x.atan2(y), int |_d, i, _j| i, slopes y / (x * x + y * y), -x / (x * x + y * y));
