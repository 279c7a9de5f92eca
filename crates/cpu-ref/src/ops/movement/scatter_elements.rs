//! `ScatterElements`.

use super::gather_elements;
use super::scatter::{self, Places};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::ScatterElements;

impl Eval for ScatterElements {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        scatter::scatter(cx, self.reduction, &places(self, cx))
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        scatter::tolerance(cx, self.reduction, &places(self, cx))
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        scatter::magnitude(cx, self.reduction, &places(self, cx))
    }
}

fn places(op: &ScatterElements, cx: &EvalCx<'_>) -> Places {
    // Where there is no element nothing is written.
    if cx.arg(0).is_empty() { Vec::new() } else { gather_elements::places(cx, op.axis) }
}
