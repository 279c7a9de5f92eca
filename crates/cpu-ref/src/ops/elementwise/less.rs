//! `Less`.

use crate::ops::elementwise::compare_eval;

compare_eval!(Less, |x, y| x < y, |order| order.is_lt());
