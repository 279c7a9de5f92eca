//! `Sign`.

use crate::ops::elementwise::unary_eval;
use pumice_types::DType;

unary_eval!(Sign, ulp 0.5, |_op, x| sign(x), int |d, i| int_sign(d, i));

/// NaN stays NaN; both zeros give 0.
fn sign(x: f64) -> f64 {
    match x {
        x if x.is_nan() => x,
        0.0 => 0.0,
        x => x.signum(),
    }
}

fn int_sign(dtype: DType, i: i64) -> i64 {
    if dtype == DType::U64 { i64::from(i != 0) } else { i.signum() }
}
