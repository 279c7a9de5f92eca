//! `LessOrEqual`.

use crate::ops::elementwise::compare_eval;

compare_eval!(LessOrEqual, |x, y| x <= y, |order| order.is_le());
