//! `ElementwiseGrad`: by the op's own formula in f64.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::expand;
use crate::ops::gradient;
use crate::slope::{Slope, slope};
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

    /// A gradient is linear in dy; by another operand it is differentiated by differences. Which of two operands comes
    /// first is no matter where what they make is smooth in one of them: so what bends in the one is differentiated by
    /// it as its own file says, and then by the other.
    fn gradient(&self, by: usize, x: &[Option<f64>], dy: f64) -> Option<f64> {
        let (first, second) = (self.operand as usize, by.checked_sub(1));
        let Some(second) = second else { return gradient(&self.of, first, x.get(1..)?, dy) };
        let (operands, before) = (x.get(1..)?, x.first().copied().flatten()?);
        let along = |first: usize, second: usize| {
            let moved = |to: f64| {
                let mut operands = operands.to_vec();
                operands[second] = Some(to);
                gradient(&self.of, first, &operands, 1.0).unwrap_or(f64::NAN)
            };
            slope(moved, operands.get(second).copied().flatten()?)
        };
        let here = along(first, second);
        let other = || (first != second).then(|| along(second, first)).flatten();
        let slope = match here {
            Some(Slope::Smooth(slope)) => slope,
            _ => match (other(), here) {
                (Some(Slope::Smooth(slope)), _) | (_, Some(Slope::Kink(slope))) => slope,
                (Some(Slope::Kink(slope)), _) => slope,
                _ => return None,
            },
        };
        // 0 is +0 (OPS 3.12), whatever the signs of what it is multiplied by.
        let product = dy * before * slope;
        Some(if product == 0.0 { 0.0 } else { product })
    }
}
