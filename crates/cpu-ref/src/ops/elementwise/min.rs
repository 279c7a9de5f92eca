//! `Min`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{fold, int_lt, min, rounded};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Min;

impl Eval for Min {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        rounded(cx, fold(cx, min, |d, i, j| if int_lt(d, j, i) { j } else { i }).1)
    }

    /// Exact but for the sign of zero, which is open where both zeros meet.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::chosen(cx.out().0)
    }
}
