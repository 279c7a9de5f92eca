//! Parts into which an axis, or what a reduction adds up, is cut; ranges of an axis; how many elements there are.

use pumice_ir::ops::Slice;
use pumice_types::{DimExpr, SymbolTable};
use std::ops::Range;

/// `count` parts of `len` elements each; what is left remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// How many.
    pub count: u64,
    /// Elements of each.
    pub len: u64,
}

impl Parts {
    /// Elements of all parts.
    pub fn elements(self) -> u64 {
        self.count * self.len
    }
}

/// The elements of a range of an axis.
pub fn range_of(axis: i64, range: Range<impl Into<DimExpr>>) -> Slice {
    let (starts, ends) = (vec![range.start.into()], vec![range.end.into()]);
    Slice { starts, ends, axes: vec![axis], steps: Vec::new(), exact: false }
}

/// Product of the upper bounds of some extents.
pub fn upper<'d>(extents: impl IntoIterator<Item = &'d DimExpr>, symbols: &SymbolTable) -> u64 {
    extents.into_iter().fold(1, |n, d| n.saturating_mul(d.upper(symbols)))
}
