//! `ElementwiseGrad`: by the op's own formula in f64.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::expand;
use crate::ops::gradient;
use crate::tolerance::Tolerance;
use pumice_ir::ops::ElementwiseGrad;

/// What the expansion of a derivative may be off by, for operands and dy of ordinary sizes.
const ULPS: f64 = 64.0;
const ABSOLUTE: f64 = 2e-6;

impl Eval for ElementwiseGrad {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (dtype, shape) = cx.out();
        let dy = expand(cx.arg(0), shape).to_f64();
        let operands = cx.inputs.iter().skip(1);
        let operands: Vec<Option<Vec<f64>>> =
            operands.map(|x| x.map(|x| expand(x, shape).to_f64())).collect();
        let at = |e: usize| {
            let x: Vec<Option<f64>> = operands.iter().map(|x| x.as_ref().map(|x| x[e])).collect();
            gradient(&self.of, self.operand as usize, &x, dy[e]).unwrap_or(f64::NAN)
        };
        vec![Array::floats(dtype, shape, (0..dy.len()).map(at).collect())]
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::ulps_or(cx.out().0, ULPS, ABSOLUTE)
    }

    /// A gradient is linear in dy; by another operand it is differentiated by differences (Richardson's
    /// extrapolation).
    fn gradient(&self, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let of = |x: &[Option<f64>]| gradient(&self.of, self.operand as usize, &x[1..], x[0]?);
        if by == 0 {
            return gradient(&self.of, self.operand as usize, &x[1..], dy);
        }
        let moved = |by_much: f64| {
            let mut x = x.to_vec();
            x[by] = x[by].map(|v| v + by_much);
            of(&x)
        };
        let h = 1e-3 * x[by]?.abs().max(1.0);
        let difference = |h: f64| Some((moved(h)? - moved(-h)?) / (2.0 * h));
        let [first, second, third] = [difference(h)?, difference(h / 2.0)?, difference(h / 4.0)?];
        let [a, b] = [(4.0 * second - first) / 3.0, (4.0 * third - second) / 3.0];
        Some(dy * ((16.0 * b - a) / 15.0))
    }
}
