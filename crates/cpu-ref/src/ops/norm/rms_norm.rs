//! `RmsNorm`.

use super::layer_norm::{inverse, magnitudes, normalized, row_tolerance};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::RmsNorm;

impl Eval for RmsNorm {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let offset = f64::from(self.weight_offset);
        normalized(cx, self.axis, |row, x, gamma, beta| {
            x * inverse(row.mean_square, self.epsilon) * (offset + gamma) + beta
        })
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        row_tolerance(cx, self.axis)
    }

    /// |x|/√(mean x² + ε)·(|offset| + |γ|) + |β|: the squares are positive, so their sum's error is relative, and the
    /// root halves it; offset + γ may cancel.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let offset = f64::from(self.weight_offset);
        magnitudes(cx, self.axis, |row, x, gamma, beta| {
            x.abs() * inverse(row.mean_square, self.epsilon) * (offset.abs() + gamma.abs()) + beta.abs()
        })
    }
}
