//! `BitwiseXor`.

use crate::ops::elementwise::binary_eval;

binary_eval!(BitwiseXor, ulp 0.5, |x, _y| x, int |_d, i, j| i ^ j);
