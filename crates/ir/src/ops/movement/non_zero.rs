//! Where elements are not 0, as a composition: as many results as the run finds.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Cast;
use crate::ops::cum_sum::CumSum;
use crate::ops::search_sorted::SearchSorted;
use crate::shape::product;
use pumice_types::{DType, DimExpr};

/// A condition is of no more slices than there are.
fn conditions(cx: &Infer<'_>, axis: Option<i64>) -> Result<(), OpError> {
    cx.expect_dtype(1, &[DType::Bool])?;
    cx.expect_rank(1, 1)?;
    let x = cx.ty(0)?;
    let extent = match axis {
        Some(axis) => x.shape[cx.axis(axis, x.rank())?].clone(),
        None => product(&x.shape),
    };
    cx.at_most(&cx.ty(1)?.shape[0], &extent, "the condition and the axis")
}

impl GraphBuilder {
    /// Indices of the elements that are not 0, in row-major order (ONNX NonZero): x\[…\] of rank r → i64\[r, n\]. n is
    /// found while the program runs, at most the elements of x ([`extent_of`](GraphBuilder::extent_of)). NaN is not 0.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([16, 16]));
    /// g.output("places", g.non_zero(x));
    /// assert_eq!(g.build()?.symbols().found().count(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn non_zero(&self, x: Value) -> Value {
        let ty = match self.checked_operands("non_zero", &["x"], &[x], |_| Ok(())) {
            Ok(types) => types[0].clone(),
            Err(mistake) => return mistake,
        };
        let g = self.composition("non_zero");
        let zero = g.constant_scalar(ty.dtype(), 0.0);
        let mask = if ty.dtype() == DType::Bool { x } else { g.not_equal(x, zero) };
        let flat = if ty.rank() == 1 { mask } else { g.reshape_to(mask, vec![product(&ty.shape)]) };
        let at = g.places_of_true(flat);
        let all = match ty.rank() {
            0 => g.reshape_to(g.narrow(at, 0, 0u64, 0u64), vec![0u64.into(), g.dim_of(at, 0)]),
            rank => g.indices_of(at, x, rank),
        };
        g.last().apply(Cast { to: DType::I64 }, &[all])
    }

    /// Places in row-major order as indices along the axes of x: i32\[n\] → i32\[r, n\].
    #[track_caller]
    fn indices_of(&self, at: Value, x: Value, rank: usize) -> Value {
        let (mut rest, mut axes) = (at, Vec::with_capacity(rank));
        for axis in (1..rank).rev() {
            let extent = self.extent(x, axis as i64);
            axes.push(self.modulo(rest, extent, false));
            rest = self.div(rest, extent);
        }
        // What is left of the place is the index along the first axis.
        axes.push(rest);
        axes.reverse();
        self.stack(&axes, 0)
    }

    /// Slices of an axis whose condition is true, in their order (ONNX Compress): x\[…, d, …\], condition bool\[k\],
    /// k ≤ d → \[…, n, …\]; without an axis elements of x in row-major order → \[n\]. n is found while the program runs
    /// ([`extent_of`](GraphBuilder::extent_of)), once for all that one condition chooses: such values have one extent.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, bool_, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([16, 4]));
    /// g.output("kept", g.compress(x, g.input("keep", bool_([16])), Some(0)));
    /// assert_eq!(g.build()?.symbols().found().count(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn compress(&self, x: Value, condition: Value, axis: Option<i64>) -> Value {
        let operands = [x, condition];
        let rule = |cx: &Infer<'_>| conditions(cx, axis);
        let ty = match self.checked_operands("compress", &["x", "condition"], &operands, rule) {
            Ok(types) => types[0].clone(),
            Err(mistake) => return mistake,
        };
        let g = self.composition("compress");
        let (x, axis) = match axis {
            Some(axis) => (x, axis),
            None => (g.reshape_to(x, vec![product(&ty.shape)]), 0),
        };
        let at = g.places_of_true(condition);
        g.last().gather(x, at, axis)
    }

    /// The places at which a mask is true, in their order: bool\[m\] → i32\[n\], n found. Place p of them is where the
    /// number of true elements first exceeds p; n is the last such number where there is a last element. Of one mask
    /// they are found once.
    #[track_caller]
    fn places_of_true(&self, mask: Value) -> Value {
        if let Some(known) = self.known_places(mask) {
            return known;
        }
        let places = self.find_places(mask);
        self.know_places(mask, places);
        places
    }

    #[track_caller]
    fn find_places(&self, mask: Value) -> Value {
        let ones = self.cast(mask, DType::I32);
        let sums = self.cum_sum(ones, CumSum::default());
        let symbols = self.symbols().unwrap_or_default();
        let extent = self.type_of(mask).map_or_else(DimExpr::default, |ty| ty.shape[0].clone());
        let most = extent.upper(&symbols);
        let count = if extent.lower(&symbols) > 0 {
            let last = self.narrow(sums, 0, extent - 1, 1u64);
            self.reshape(last, &[])
        } else {
            self.reduce_sum(ones, &[0], false)
        };
        let n: DimExpr = self.extent_of(count, 0..=most);
        let numbers = self.range(0, n, 1, DType::I32);
        self.search_sorted(sums, numbers, SearchSorted { right: true, ..SearchSorted::default() })
    }
}
