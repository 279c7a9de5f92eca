//! Comparisons of numbers: the answer at the lower ends, and a cut of the intervals where it is another elsewhere.

use super::{Number, Range};
use pumice_types::DimExpr;
use std::cmp::Ordering;

impl<'i> Number<'i> {
    /// Compares; `same` says of all that the difference may be whether it gives one answer.
    fn compare(self, other: Number<'i>, same: impl Fn(Range) -> bool) -> Ordering {
        if let Some(of) = self.intervals().or(other.intervals()) {
            let difference: Option<DimExpr> =
                self.expression().zip(other.expression()).map(|(a, b)| a - b).filter(super::is_exact);
            let range = difference.as_ref().and_then(|e| of.range(e));
            if !range.is_some_and(same) {
                of.cut_at(difference.as_ref());
            }
        }
        self.value.cmp(&other.value)
    }
}

impl<'i, N: Into<Number<'i>> + Copy> PartialEq<N> for Number<'i> {
    fn eq(&self, other: &N) -> bool {
        let apart = |(low, high): Range| low > 0 || high < 0 || (low, high) == (0, 0);
        self.compare((*other).into(), apart).is_eq()
    }
}

impl Eq for Number<'_> {}

impl<'i, N: Into<Number<'i>> + Copy> PartialOrd<N> for Number<'i> {
    fn partial_cmp(&self, other: &N) -> Option<Ordering> {
        let apart = |(low, high): Range| low > 0 || high < 0 || (low, high) == (0, 0);
        Some(self.compare((*other).into(), apart))
    }

    fn lt(&self, other: &N) -> bool {
        self.compare((*other).into(), |(low, high)| high < 0 || low >= 0).is_lt()
    }

    fn le(&self, other: &N) -> bool {
        self.compare((*other).into(), |(low, high)| high <= 0 || low > 0).is_le()
    }

    fn gt(&self, other: &N) -> bool {
        self.compare((*other).into(), |(low, high)| high <= 0 || low > 0).is_gt()
    }

    fn ge(&self, other: &N) -> bool {
        self.compare((*other).into(), |(low, high)| high < 0 || low >= 0).is_ge()
    }
}

impl Ord for Number<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(*other, |(low, high)| low > 0 || high < 0 || (low, high) == (0, 0))
    }
}
