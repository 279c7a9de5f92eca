//! `Mod`.

use super::div::raise_zero_divisors;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::zip;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Mod;
use pumice_types::DType;

impl Eval for Mod {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        raise_zero_divisors(cx);
        if self.fmod { zip(cx, |x, y| x % y, dividend_sign) } else { zip(cx, floor_mod, divisor_sign) }
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 0.5)
    }

    fn gradient(&self, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let (x, y) = (x.first().copied().flatten()?, x.get(1).copied().flatten()?);
        let quotient = if self.fmod { (x / y).trunc() } else { (x / y).floor() };
        Some(if by == 0 { dy } else { -dy * quotient })
    }
}

/// x − ⌊x/y⌋·y. `%` is exact; adding the divisor where the signs differ rounds once.
fn floor_mod(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

fn dividend_sign(dtype: DType, x: i64, y: i64) -> i64 {
    match (dtype, y) {
        (_, 0) => 0,
        (DType::U64, _) => (x as u64 % y as u64) as i64,
        _ => x.wrapping_rem(y),
    }
}

fn divisor_sign(dtype: DType, x: i64, y: i64) -> i64 {
    let r = dividend_sign(dtype, x, y);
    if dtype.is_signed() && r != 0 && (r < 0) != (y < 0) { r + y } else { r }
}
