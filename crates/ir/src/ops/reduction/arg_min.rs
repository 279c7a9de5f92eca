//! `ArgMin`: where the smallest element is.

use super::arg::arg_extremum;

arg_extremum! {
    /// The index of the first (or last) smallest element along an axis (ONNX ArgMin); the first NaN wins, −0 is +0.
    /// Floats and integers, which are compared as they are: no negation, that the smallest integer and unsigned ones
    /// have not. An empty axis is an error.
    ArgMin arg_min arg_min_i32,
    /// The index of the first smallest element along an axis (ONNX ArgMin): x\[…\] → i64, without the axis or with 1 in
    /// its place. The first NaN wins; an axis that is or may be empty is a mistake.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 1..=8), 3.into()]));
    /// g.output("nearest", g.arg_min(x, 0, false));
    /// g.output("of rows", g.arg_min_i32(x, -1, true));
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
}
