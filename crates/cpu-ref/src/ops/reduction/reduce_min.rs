//! `ReduceMin`.

use super::reduce::reduce;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{int_lt, min};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ReduceMin;
use pumice_types::DType;

impl Eval for ReduceMin {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let dtype = cx.arg(0).dtype;
        let axes = (&self.axes[..], self.noop_with_empty_axes);
        let int = |a, x| if int_lt(dtype, x, a) { x } else { a };
        reduce(cx, axes, (f64::INFINITY, min), (of_nothing(dtype), int))
    }

    /// Exact but for the sign of zero.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::chosen(cx.out().0)
    }
}

/// The highest value of an integer dtype.
fn of_nothing(dtype: DType) -> i64 {
    match dtype {
        DType::U64 => -1,
        DType::Bool => 1,
        d if d.is_signed() => i64::MAX >> (64 - d.bits()),
        d => (1 << d.bits()) - 1,
    }
}
