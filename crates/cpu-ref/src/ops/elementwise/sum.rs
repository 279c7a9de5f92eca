//! `Sum`: the chain of `Add` it is defined by, each rounded.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::expand;
use crate::ops::elementwise::zip_two;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Sum;

impl Eval for Sum {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![left_fold(cx)]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps(cx.out().0, 0.5)
    }
}

/// ((x₀ + x₁) + x₂) + …, every sum rounded to the dtype.
pub(crate) fn left_fold(cx: &EvalCx<'_>) -> Array {
    let (_, shape) = cx.out();
    let mut operands = cx.present().into_iter();
    let first = operands.next().expect("verified: there is at least one operand");
    let first = expand(first, shape).into_owned();
    operands.fold(first, |sum, x| zip_two(&sum, x, shape, |a, b| a + b, |_, i, j| i.wrapping_add(j)))
}
