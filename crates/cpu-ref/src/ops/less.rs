//! `Less`.

use super::elementwise::compare_eval;

compare_eval!(Less, |x, y| x < y, |order| order.is_lt());
