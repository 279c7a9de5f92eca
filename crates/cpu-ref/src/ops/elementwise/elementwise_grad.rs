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

/// Steps of differences, of an operand of ordinary size, the next one where one does not settle; and what is settled.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];
const SETTLED: f64 = 1e-8;

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
    /// extrapolation), of steps so small that they settle: a kink beside the place has no influence.
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
        slope(moved, x[by]?.abs().max(1.0)).map(|slope| dy * slope)
    }
}

/// The slope at 0 of what is there at a distance, by the widest of the steps that settles, of a place of that size.
fn slope(moved: impl Fn(f64) -> Option<f64>, place: f64) -> Option<f64> {
    let size = moved(0.0)?.abs();
    let mut widest = None;
    for h in STEPS.map(|step| step * place) {
        let difference = |h: f64| Some((moved(h)? - moved(-h)?) / (2.0 * h));
        let [first, second, third] = [difference(h)?, difference(h / 2.0)?, difference(h / 4.0)?];
        let [a, b] = [(4.0 * second - first) / 3.0, (4.0 * third - second) / 3.0];
        let slope = (16.0 * b - a) / 15.0;
        if (a - b).abs() <= SETTLED * a.abs().max(b.abs()).max(size) {
            return Some(slope);
        }
        widest = widest.or(Some(slope));
    }
    widest
}
