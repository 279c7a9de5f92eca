//! `Sign`.

use super::elementwise::unary_eval;

unary_eval!(Sign, ulp 0.5, |_op, x| if x.is_nan() { x } else if x == 0.0 { 0.0 } else { x.signum() }, int |d, i| if d == pumice_types::DType::U64 { i64::from(i != 0) } else { i.signum() });
