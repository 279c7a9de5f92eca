//! `Greater`.

use super::elementwise::compare_eval;

compare_eval!(Greater, |x, y| x > y, |order| order.is_gt());
