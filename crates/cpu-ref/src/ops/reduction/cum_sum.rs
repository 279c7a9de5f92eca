//! `CumSum`.

use super::scan_runs::Walk;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::CumSum;

impl From<&CumSum> for Walk {
    fn from(op: &CumSum) -> Walk {
        let &CumSum { axis, exclusive, reverse } = op;
        Walk { axis, run: usize::MAX, exclusive, reverse, totals: false }
    }
}

impl Eval for CumSum {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        Walk::from(self).eval(cx, false)
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.arg(0).dtype, Walk::from(self).terms(cx))
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        Walk::from(self).magnitude(cx, false)
    }
}
