//! `ReduceSum`.

use super::reduce::{groups, reduce};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ReduceSum;

impl Eval for ReduceSum {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let axes = (&self.axes[..], self.noop_with_empty_axes);
        reduce(cx, axes, (0.0, |a, x| a + x), (0, |a, x| a.wrapping_add(x)))
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let x = cx.arg(0);
        Tolerance::sum(x.dtype, groups(x, &self.axes, self.noop_with_empty_axes).steps.len() as u64)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let x = cx.arg(0);
        groups(x, &self.axes, self.noop_with_empty_axes).fold(x.as_floats(), 0.0, |a, x| a + x.abs())
    }
}
