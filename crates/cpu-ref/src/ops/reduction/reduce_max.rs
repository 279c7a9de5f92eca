//! `ReduceMax`.

use super::reduce::reduce;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{int_lt, max};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ReduceMax;
use pumice_types::DType;

impl Eval for ReduceMax {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let dtype = cx.arg(0).dtype;
        let axes = (&self.axes[..], self.noop_with_empty_axes);
        let int = |a, x| if int_lt(dtype, a, x) { x } else { a };
        reduce(cx, axes, (f64::NEG_INFINITY, max), (of_nothing(dtype), int))
    }

    /// Exact but for the sign of zero.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::chosen(cx.out().0)
    }
}

/// The lowest value of an integer dtype.
fn of_nothing(dtype: DType) -> i64 {
    if !dtype.is_signed() { 0 } else { i64::MIN >> (64 - dtype.bits()) }
}
