//! `Equal`.

use crate::ops::elementwise::compare_eval;

compare_eval!(Equal, |x, y| x == y, |order| order.is_eq());
