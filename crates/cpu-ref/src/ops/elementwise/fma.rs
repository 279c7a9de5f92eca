//! `Fma`: the `Mul` and `Add` it is defined by.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::expand;
use crate::ops::elementwise::zip_two;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Fma;

impl Eval for Fma {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (_, shape) = cx.out();
        let product = zip_two(cx.arg(0), cx.arg(1), shape, |x, y| x * y, |_, i, j| i.wrapping_mul(j));
        vec![zip_two(&product, cx.arg(2), shape, |x, y| x + y, |_, i, j| i.wrapping_add(j))]
    }

    /// The product may or may not be rounded before the sum.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, 2)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let (dtype, shape) = cx.out();
        let [a, b, c] = [0, 1, 2].map(|i| expand(cx.arg(i), shape).to_f64());
        let term = |i: usize| (a[i] * b[i]).abs() * Tolerance::rounding_weight(dtype) + c[i].abs();
        (0..a.len()).map(term).collect()
    }
}
