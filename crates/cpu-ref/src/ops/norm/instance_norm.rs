//! `InstanceNorm`.

use super::group_norm::Groups;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::InstanceNorm;

impl Eval for InstanceNorm {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        channels(self, cx).normalized()
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        channels(self, cx).tolerance()
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        channels(self, cx).magnitude()
    }
}

/// A group for each channel.
fn channels<'a>(op: &InstanceNorm, cx: &'a EvalCx<'a>) -> Groups<'a> {
    Groups::of(cx, cx.arg(0).shape[1], op.epsilon)
}
