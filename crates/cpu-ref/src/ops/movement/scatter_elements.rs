//! `ScatterElements`.

use super::gather_elements;
use super::scatter::{Places, Scattered};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ScatterElements;

impl Eval for ScatterElements {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        Scattered::new(cx, self.reduction, places(self, cx)).eval(cx)
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Scattered::new(cx, self.reduction, places(self, cx)).tolerance(cx)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        Scattered::new(cx, self.reduction, places(self, cx)).magnitude()
    }
}

fn places(op: &ScatterElements, cx: &EvalCx<'_>) -> Places {
    // Where there is no element nothing is written.
    if cx.arg(0).is_empty() {
        Vec::new()
    } else {
        gather_elements::places(cx, (&cx.arg(0).shape, op.axis), cx.arg(1))
    }
}
