//! `Mean`: `Sum` and a division by the number of operands.

use super::sum::left_fold;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Mean;

impl Eval for Mean {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let sum = left_fold(cx);
        let n = cx.present().len() as f64;
        vec![Array::floats(sum.dtype, &sum.shape, sum.as_floats().iter().map(|v| v / n).collect())]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 2.5)
    }
}
