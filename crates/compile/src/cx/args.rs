//! Arguments and grids of calls: constants where an expression has one value in the range, else words of the frame.

use super::{LowerCx, LowerResult};
use crate::frame;
use pumice_plan::kernel::ArgValue;
use pumice_plan::{FrameSlot, Grid};
use pumice_types::DimExpr;

/// Group counts of one grid dimension that every device takes.
const MAX_GROUPS: u32 = 65_535;

impl LowerCx<'_> {
    /// An argument from an expression; one that has a single value in this range of the symbols is a constant.
    pub fn arg(&mut self, expr: &DimExpr) -> ArgValue {
        match self.fixed(expr) {
            Some(value) => ArgValue::U32(value as u32),
            None => self.intern(std::slice::from_ref(expr), |words| frame::word(words, expr)).into(),
        }
    }

    /// The value of an expression that has only one in this range of the symbols.
    pub fn fixed(&self, expr: &DimExpr) -> Option<i64> {
        let (lo, hi) = expr.bounds(self.graph.symbols());
        (lo == hi).then_some(lo)
    }

    /// Whether an offset, stride or extent keeps groups of four elements together.
    pub fn by_four(&self, e: &DimExpr) -> bool {
        e.is(0) || e.divisor(self.graph.symbols()).is_multiple_of(4)
    }

    /// Arguments from expressions, the rest zero. Fails where there are more than `N`.
    pub fn args<const N: usize>(&mut self, exprs: &[DimExpr]) -> LowerResult<[ArgValue; N]> {
        if exprs.len() > N {
            return Err(format!("{} extents where the kernel takes {N}", exprs.len()).into());
        }
        let mut out = [ArgValue::ZERO; N];
        exprs.iter().zip(&mut out).for_each(|(e, o)| *o = self.arg(e));
        Ok(out)
    }

    /// A grid of so many groups, folded into the dimensions that the target allows, at most 65,535 each.
    pub fn grid(&mut self, groups: &DimExpr) -> LowerResult<Grid> {
        let [x, y, z] = self.target.limits.max_workgroup_count.map(|n| u64::from(n.clamp(1, MAX_GROUPS)));
        let upper = groups.upper(self.graph.symbols());
        // Of n·(n − 1) the bounds are those of its terms.
        let groups = match groups.bounds(self.graph.symbols()).0 < 0 {
            true => &groups.max_with(&DimExpr::constant(0)),
            false => groups,
        };
        if upper > x * y * z {
            return Err("it needs more workgroups than a grid can have".into());
        }
        let fold = |g: u64| [g.min(x), g.div_ceil(x).min(y), g.div_ceil(x * y)].map(|n| n as u32);
        if self.fixed(groups).is_some() {
            return Ok(Grid::Static(fold(upper)));
        }
        let one = || DimExpr::constant(1);
        let rest = groups.ceil_div(&x.into());
        let columns = if upper > x { groups.min_with(&x.into()) } else { groups.clone() };
        let rows = if upper > x { rest.min_with(&y.into()) } else { one() };
        let planes = if upper > x * y { rest.ceil_div(&y.into()) } else { one() };
        let grid = [columns, rows, planes];
        let word = self.intern(&grid, |words| words.intern_grid(grid.clone()));
        Ok(Grid::Frame { word, upper: fold(upper) })
    }

    /// The groups of a grid as expressions, wherever its words lie.
    pub fn groups_of(&self, grid: &Grid) -> LowerResult<[DimExpr; 3]> {
        let first = match grid {
            Grid::Static(groups) => return Ok(groups.map(|n| DimExpr::from(u64::from(n)))),
            Grid::Frame { word, .. } => *word,
        };
        let words: Vec<DimExpr> =
            self.slots_from(first).iter().take(3).filter_map(FrameSlot::expression).collect();
        words.try_into().map_err(|_| "a grid is no three expressions of the frame".into())
    }

    /// `bound(upper of e) ≤ limit`, or a refusal: kernels count in 32 bits.
    pub fn fits_u32(&self, elements: &DimExpr, what: &str) -> LowerResult {
        let upper = elements.upper(self.graph.symbols());
        if upper > u64::from(u32::MAX >> 1) {
            return Err(format!("{what} has {upper} elements, kernels count to 2^31").into());
        }
        Ok(())
    }
}
