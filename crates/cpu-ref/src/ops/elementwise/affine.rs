//! `Affine`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::{map, no_int};
use crate::tolerance::Tolerance;
use pumice_ir::ops::Affine;

impl Eval for Affine {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        map(cx, |x| f64::from(self.mul) * x + f64::from(self.add), no_int)
    }

    /// A sum of two terms, which may cancel.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, 2)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let term = |x: &f64| (f64::from(self.mul) * x).abs() + f64::from(self.add).abs();
        cx.arg(0).as_floats().iter().map(term).collect()
    }

    fn gradient(&self, _by: usize, _x: &[Option<f64>], dy: f64) -> Option<f64> {
        Some(dy * f64::from(self.mul))
    }
}
