//! `MinPool`.

use super::pool::{extremes, folded};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{int_lt, min};
use crate::tolerance::Tolerance;
use pumice_ir::ops::MinPool;

impl Eval for MinPool {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let windows = self.windows(shape.len() - 2).expect("inference has accepted the lists");
        let int = |a, x| if int_lt(dtype, x, a) { x } else { a };
        folded(cx, &windows, (f64::INFINITY, min), (extremes(dtype).1, int))
    }

    /// Exact but for the sign of zero.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::chosen(cx.out().0)
    }
}
