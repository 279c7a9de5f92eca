//! `Greater`.

use crate::ops::elementwise::compare_eval;

compare_eval!(Greater, |x, y| x > y, |order| order.is_gt());
