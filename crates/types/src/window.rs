//! One axis of a window that slides over an extent: what convolutions and pools have in common.
//!
//! In: kernel, stride, dilation and the two pads of one axis. Out: extents as expressions of symbols, and the element
//! under a tap. Never here: channels, groups, and what is done with elements.

use crate::DimExpr;

/// One axis of a window. All lengths are in elements; `kernel`, `stride` and `dilation` are at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowAxis {
    /// Taps of the window.
    pub kernel: u64,
    /// Elements from one position of the window to the next.
    pub stride: u64,
    /// Elements from one tap to the next.
    pub dilation: u64,
    /// Zeros before the first element.
    pub begin: u64,
    /// Zeros after the last element.
    pub end: u64,
}

impl WindowAxis {
    /// The axis that changes nothing: one tap at each element.
    pub const UNIT: WindowAxis = WindowAxis { kernel: 1, stride: 1, dilation: 1, begin: 0, end: 0 };

    /// Elements from the first tap to the last one, both counted.
    pub fn reach(&self) -> u64 {
        self.kernel.saturating_sub(1).saturating_mul(self.dilation).saturating_add(1)
    }

    /// The extent with both pads.
    pub fn padded(&self, extent: &DimExpr) -> DimExpr {
        extent + &DimExpr::from(self.begin.saturating_add(self.end))
    }

    /// Positions at which the whole window lies in the padded extent: ⌊(padded − reach)/stride⌋ + 1; none where it is
    /// smaller than the window.
    pub fn positions(&self, extent: &DimExpr) -> DimExpr {
        let firsts = self.padded(extent) - DimExpr::from(self.reach()) + DimExpr::constant(1);
        let firsts = firsts.max_with(&DimExpr::constant(0));
        firsts.ceil_div(&DimExpr::from(self.stride))
    }

    /// Positions where the last window may end after the padded extent, but begins before the end pad:
    /// min(⌈(padded − reach)/stride⌉ + 1, ⌈(extent + begin)/stride⌉). Of the two dividends, which differ by a constant,
    /// one is always the smaller.
    pub fn positions_ceil(&self, extent: &DimExpr) -> DimExpr {
        let stride = DimExpr::from(self.stride);
        let beyond = self.padded(extent) - DimExpr::from(self.reach()) + &stride;
        let beginning = extent + &DimExpr::from(self.begin);
        beyond.min_with(&beginning).max_with(&DimExpr::constant(0)).ceil_div(&stride)
    }

    /// The extent that has so many positions of the window, what is between them and `more` elements after them,
    /// without the pads: stride·(positions − 1) + reach + more − begin − end; none where the pads are larger.
    pub fn spread(&self, positions: &DimExpr, more: u64) -> DimExpr {
        let extent = self.spread_padded(positions, more) - DimExpr::from(self.begin.saturating_add(self.end));
        extent.max_with(&DimExpr::constant(0))
    }

    /// As [`WindowAxis::spread`], with the pads.
    pub fn spread_padded(&self, positions: &DimExpr, more: u64) -> DimExpr {
        let between = (positions - DimExpr::constant(1)) * self.stride;
        between + DimExpr::from(self.reach().saturating_add(more))
    }

    /// The element under a tap of the window at a position; outside the extent where it lies in a pad.
    pub fn element(&self, position: u64, tap: u64) -> i64 {
        let at = i128::from(position) * i128::from(self.stride) + i128::from(tap) * i128::from(self.dilation)
            - i128::from(self.begin);
        i64::try_from(at).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions counted one by one, as the formulas of ONNX count them.
    fn counted(axis: &WindowAxis, extent: u64, ceil: bool) -> u64 {
        let padded = extent + axis.begin + axis.end;
        let fits = |first: u64| first + axis.reach() <= padded;
        let mut n = 0;
        while fits(n * axis.stride) {
            n += 1;
        }
        let rest = (n - 1) * axis.stride + axis.reach() < padded;
        n + u64::from(ceil && rest && n * axis.stride < extent + axis.begin)
    }

    #[test]
    fn positions_are_what_counting_gives() {
        let mut tried = 0;
        for (kernel, stride, dilation) in
            (1..5).flat_map(|k| (1..5).flat_map(move |s| (1..4).map(move |d| (k, s, d))))
        {
            for (begin, end, extent) in
                (0..4).flat_map(|b| (0..4).flat_map(move |e| (0..12).map(move |n| (b, e, n))))
            {
                let axis = WindowAxis { kernel, stride, dilation, begin, end };
                let reach = axis.reach();
                if extent + begin + end < reach || begin >= reach || end >= reach {
                    continue;
                }
                let n = DimExpr::from(extent);
                assert_eq!(
                    axis.positions(&n).as_extent(),
                    Some(counted(&axis, extent, false)),
                    "{axis:?} {extent}"
                );
                assert_eq!(
                    axis.positions_ceil(&n).as_extent(),
                    Some(counted(&axis, extent, true)),
                    "{axis:?} {extent}"
                );
                tried += 1;
            }
        }
        assert!(tried > 2_000, "{tried}");
    }

    #[test]
    fn spreading_undoes_positions_but_for_the_remainder() {
        let axis = WindowAxis { kernel: 3, stride: 2, dilation: 2, begin: 1, end: 2 };
        for extent in 2..20 {
            let n = DimExpr::from(extent);
            let padded = extent + 3 - 5;
            assert_eq!(axis.spread(&axis.positions(&n), padded % 2).as_extent(), Some(extent));
        }
    }
}
