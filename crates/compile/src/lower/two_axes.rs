//! A dense tensor around one axis or two that change: what the kernels that make columns of lines count by.

use crate::cx::{LowerCx, LowerResult};
use crate::unplaced::PlacedView;
use pumice_ir::shape::product;
use pumice_types::DimExpr;

/// x as \[outer, first axis, mid, last axis, inner\], and what becomes of the axes. Of one axis the first is 1.
pub(super) struct TwoAxes {
    pub outer: DimExpr,
    pub mid: DimExpr,
    /// In words.
    pub inner: DimExpr,
    pub axis: [DimExpr; 2],
    pub made: [DimExpr; 2],
}

impl TwoAxes {
    /// Of x, whose axes have other extents in y.
    pub fn of(cx: &LowerCx<'_>, [x, y]: [&PlacedView; 2], axes: &[usize]) -> LowerResult<TwoAxes> {
        let words = DimExpr::from(x.words_of_element());
        cx.fits_u32(&(product(&x.view.shape) * &words), "the words of its operand")?;
        cx.fits_u32(&(product(&y.view.shape) * &words), "the words of its result")?;
        let (first, last) = match *axes {
            [last] => (None, last),
            [first, last] => (Some(first), last),
            _ => return Err("one step changes one axis or two".into()),
        };
        let shape = &x.view.shape;
        let extents = |of: &PlacedView| {
            [
                first.map_or(DimExpr::constant(1), |axis| of.view.shape[axis].clone()),
                of.view.shape[last].clone(),
            ]
        };
        Ok(TwoAxes {
            outer: product(&shape[..first.unwrap_or(0)]),
            mid: product(&shape[first.map_or(0, |axis| axis + 1)..last]),
            inner: product(&shape[last + 1..]) * words,
            axis: extents(x),
            made: extents(y),
        })
    }

    /// Groups of 256 threads that have a column of so many lines each.
    pub fn groups(&self, lines: u64) -> DimExpr {
        let lines = (&self.outer * &self.made[0] * &self.mid).ceil_div(&DimExpr::from(lines));
        (lines * &self.made[1] * &self.inner).ceil_div(&DimExpr::constant(256))
    }
}
