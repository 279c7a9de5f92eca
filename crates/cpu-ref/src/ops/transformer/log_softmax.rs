//! `LogSoftmax`.

use super::softmax::{row_tolerance, rows};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::LogSoftmax;

impl Eval for LogSoftmax {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        vec![Array::floats(x.dtype, &x.shape, rows(x, self.axis, |row, x| x - row.max - row.sum.ln()))]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        row_tolerance(cx, self.axis)
    }

    /// t + |ln Σ| + 1, t = m − x. With u = 2⁻²⁴: t·u from rounding x − m, the sum's relative error
    /// (⌈log₂K⌉ + ln K + 8)·u becomes an absolute one by the logarithm, whose own error is 8u·|ln Σ|, and 2u·|y| from
    /// the two differences. The class gives 4(⌈log₂K⌉ + 4)·u of the magnitude.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        rows(cx.arg(0), self.axis, |row, x| (row.max - x).abs() + row.sum.ln().abs() + 1.0)
    }
}
