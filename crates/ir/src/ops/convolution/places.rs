//! Whole numbers as values, in i64, for compositions that find the places which they read: lengths of axes, the numbers
//! 0, 1, … along one, tables of places.

use crate::builder::{GraphBuilder, Value};
use pumice_types::{DType, DimExpr, Tensor};

impl GraphBuilder {
    /// A whole number.
    #[track_caller]
    pub(super) fn whole(&self, n: i64) -> Value {
        self.constant(Tensor::new(&[n], &[]).expect("one element is a scalar"))
    }

    /// 0, 1, … up to an extent.
    #[track_caller]
    pub(super) fn counted(&self, n: &DimExpr) -> Value {
        self.range(0u64, n.clone(), 1, DType::I64)
    }

    /// An extent.
    #[track_caller]
    pub(super) fn length(&self, n: &DimExpr) -> Value {
        match n.as_const() {
            Some(n) => self.whole(n),
            None => self.cast(self.extent(self.counted(n), 0), DType::I64),
        }
    }

    /// f·n + c.
    #[track_caller]
    pub(super) fn scaled(&self, n: Value, f: u64, c: i64) -> Value {
        let n = if f == 1 { n } else { self.mul(n, self.whole(f as i64)) };
        if c == 0 { n } else { self.add(n, self.whole(c)) }
    }

    /// The smaller.
    #[track_caller]
    pub(super) fn at_most(&self, n: Value, most: Value) -> Value {
        self.min(&[n, most])
    }

    /// The larger.
    #[track_caller]
    pub(super) fn at_least(&self, n: Value, least: Value) -> Value {
        self.max(&[n, least])
    }

    /// n within bounds, each of which may be a value that broadcasts.
    #[track_caller]
    pub(super) fn between(&self, n: Value, least: Value, most: Value) -> Value {
        self.at_least(self.at_most(n, most), least)
    }

    /// A table over the first of so many axes, the others having one element.
    #[track_caller]
    pub(super) fn over(&self, table: Value, extents: &[DimExpr], others: usize) -> Value {
        let ones = std::iter::repeat_n(DimExpr::constant(1), others);
        self.reshape_to(table, extents.iter().cloned().chain(ones).collect())
    }
}
