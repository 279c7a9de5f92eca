//! `Div`, and what integer division by zero does.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::index::expand;
use crate::ops::elementwise::zip;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Div;
use pumice_types::DType;

impl Eval for Div {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        raise_zero_divisors(cx);
        zip(cx, |x, y| x / y, quotient)
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 2.5)
    }

    fn gradient(&self, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let (x, y) = (x.first().copied().flatten()?, x.get(1).copied().flatten()?);
        Some(if by == 0 { dy / y } else { -dy * x / y / y })
    }
}

/// Toward zero; 0 by zero; MIN/−1 is MIN (after wrapping to the dtype).
fn quotient(dtype: DType, x: i64, y: i64) -> i64 {
    match (dtype, y) {
        (_, 0) => 0,
        (DType::U64, _) => (x as u64 / y as u64) as i64,
        _ => x.wrapping_div(y),
    }
}

/// Reports the positions of the result where an integer divisor is zero.
pub(crate) fn raise_zero_divisors(cx: &EvalCx<'_>) {
    let y = expand(cx.arg(1), cx.out().1);
    let zeros = y.as_ints().iter().enumerate().filter(|(_, v)| **v == 0);
    zeros.for_each(|(i, _)| cx.raise(Status::IntDivZero(i as u64)));
}
