//! `ReduceProd`.

use super::reduce::{groups, reduce};
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::{EPS32, Tolerance};
use pumice_ir::ops::ReduceProd;

impl Eval for ReduceProd {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let axes = (&self.axes[..], self.noop_with_empty_axes);
        reduce(cx, axes, (1.0, |a, x| a * x), (1, |a, x| a.wrapping_mul(x)))
    }

    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let x = cx.arg(0);
        Tolerance::sum(x.dtype, groups(x, &self.axes, self.noop_with_empty_axes).steps.len() as u64)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let x = cx.arg(0);
        let groups = groups(x, &self.axes, self.noop_with_empty_axes);
        let products = groups.fold(x.as_floats(), 1.0, |a, x| a * x);
        let rounding = groups.fold(x.as_floats(), 0.0, |r, x| r + roundings(x));
        let class = Tolerance::of_sum(groups.steps.len() as u64);
        products.into_iter().zip(rounding).map(|(p, r)| p.abs() * of_roundings(r, class)).collect()
    }
}

/// How often a factor rounds a product: a power of two does not.
pub(super) fn roundings(x: f64) -> f64 {
    let is_power_of_two = x == 0.0 || !x.is_finite() || x.to_bits() & ((1 << 52) - 1) == 0;
    if is_power_of_two { 0.0 } else { 1.0 }
}

/// What the element's own factors allow of a product, in units of what the class gives for each unit of magnitude. r
/// factors that round do so r times by 2⁻²⁴ of the product at most, in any order. These roundings are as good as drawn:
/// more than 4√r·2⁻²⁴ does not occur (7 standard deviations). Twice that is allowed. So a million factors are held to
/// 5e-4, and seventy thousand of which ten are not 1 to 1.2e-6.
pub(super) fn of_roundings(r: f64, class: f64) -> f64 {
    (r.min(8.0 * r.sqrt()) + 2.0) * EPS32 / class
}
