//! `GreaterOrEqual`.

use crate::ops::elementwise::compare_eval;

compare_eval!(GreaterOrEqual, |x, y| x >= y, |order| order.is_ge());
