//! `ReduceProd`.

use super::reduce::{groups, reduce};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ReduceProd;

impl Eval for ReduceProd {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let axes = (&self.axes[..], self.noop_with_empty_axes);
        reduce(cx, axes, (1.0, |a, x| a * x), (1, |a, x| a.wrapping_mul(x)))
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let x = cx.arg(0);
        Tolerance::sum(x.dtype, groups(x, &self.axes, self.noop_with_empty_axes).steps.len() as u64)
    }

    /// n products are off by n·2⁻²⁴ of the result at most, in any order; the class gives at least 16·2⁻²⁴.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let x = cx.arg(0);
        let groups = groups(x, &self.axes, self.noop_with_empty_axes);
        let weight = groups.steps.len() as f64 / 16.0;
        let products = groups.fold(x.as_floats(), 1.0, |a, x| a * x);
        products.into_iter().map(|p| p.abs() * weight.max(1.0)).collect()
    }
}
