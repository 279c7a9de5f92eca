//! `Linear`: the `MatMul` and `Add` it is defined by.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::zip_two;
use crate::tolerance::Tolerance;
use pumice_ir::ops::{Linear, MatMul, Rounding};

/// Rounding is the caller's.
const PRODUCT: MatMul = MatMul { trans_a: false, trans_b: true, rounding: Rounding::None };

impl Eval for Linear {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let mut y = PRODUCT.eval(cx);
        if let Some(b) = cx.opt(2) {
            y[0] = zip_two(&y[0], b, cx.out().1, |x, y| x + y, |_, i, _| i);
        }
        y
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        PRODUCT.tolerance(cx)
    }

    /// Σ|term| with the bias as one term; a 16-bit product is rounded before the bias is added.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let mut terms = PRODUCT.magnitude(cx);
        let Some(b) = cx.opt(2) else { return terms };
        let (product, bias) = (PRODUCT.eval(cx), b.as_floats());
        let weight = Tolerance::rounding_weight(b.dtype) - 1.0;
        for (i, (m, p)) in terms.iter_mut().zip(product[0].as_floats()).enumerate() {
            *m += p.abs() * weight + bias[i % bias.len()].abs();
        }
        terms
    }
}
