//! `PowScalar`.

use crate::ops::elementwise::unary_eval;

unary_eval!(PowScalar, ulp 16.0, |op, x| x.powf(f64::from(op.exponent)), slope power_slope(x, f64::from(op.exponent)));

/// ex^(e − 1), 0 where e is 0.
fn power_slope(x: f64, e: f64) -> f64 {
    if e == 0.0 { 0.0 } else { e * x.powf(e - 1.0) }
}
