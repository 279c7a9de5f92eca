//! `NotEqual`.

use crate::ops::elementwise::compare_eval;

compare_eval!(NotEqual, |x, y| x != y, |order| order.is_ne());
