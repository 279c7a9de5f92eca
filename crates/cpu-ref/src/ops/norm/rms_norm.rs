//! `RmsNorm`.

use super::layer_norm::{
    inverse, inverse_size, magnitudes, normalized, of_rows, row_tolerance, with_statistics,
};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::RmsNorm;

impl Eval for RmsNorm {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let offset = f64::from(self.weight_offset);
        let y = normalized(cx, self.axis, |row, x, gamma, beta| {
            x * inverse(row.mean_square, self.epsilon) * (offset + gamma) + beta
        });
        with_statistics(y, cx, self.axis, &[&|row| inverse(row.mean_square, self.epsilon)])
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        row_tolerance(cx, self.axis)
    }

    /// |x|/√(mean x² + ε)·(|offset| + |γ|) + |β|: the squares are positive, so their sum's error is relative, and the
    /// root halves it; offset + γ may cancel.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        if cx.result == 1 {
            let size = |v: f64| inverse_size(v, v, self.epsilon);
            return of_rows(cx, self.axis, |row| size(row.mean_square));
        }
        let offset = f64::from(self.weight_offset);
        magnitudes(cx, self.axis, |row, x, gamma, beta| {
            x.abs() * inverse(row.mean_square, self.epsilon) * (offset.abs() + gamma.abs()) + beta.abs()
        })
    }
}
