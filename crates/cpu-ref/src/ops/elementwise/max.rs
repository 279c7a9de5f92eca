//! `Max`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{fold, int_lt, max, rounded};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Max;

impl Eval for Max {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        rounded(cx, fold(cx, max, |d, i, j| if int_lt(d, i, j) { j } else { i }).1)
    }

    /// Exact but for the sign of zero, which is open where both zeros meet.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::chosen(cx.out().0)
    }
}
