//! Logarithms of sums over axes, as compositions: `reduce_log_sum`, `reduce_log_sum_exp`.
//!
//! ONNX's `noop_with_empty_axes` leaves their elementwise part: ln x, and x.

use crate::builder::{GraphBuilder, Value};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Add, Log};
use pumice_types::DType;

impl GraphBuilder {
    /// ln Σx over axes (ONNX ReduceLogSum): x\[…\] → x without the axes, or with 1 in their place; empty `axes` are all
    /// of them. Floats; −Inf over an empty set and where the sum is 0, NaN where it is negative or an element is NaN.
    /// 16-bit floats are added in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([2, 3]));
    /// g.output("y", g.reduce_log_sum(x, &[1], false));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reduce_log_sum(&self, x: Value, axes: &[i64], keepdims: bool) -> Value {
        let over = match self.reduced("reduce_log_sum", x, axes, FLOATS) {
            Ok(over) => over,
            Err(mistake) => return mistake,
        };
        let g = self.composition("reduce_log_sum");
        let wide = g.widened(x, over.dtype);
        let sum = g.apply(over.sum(keepdims), &[wide]);
        g.finish(Log {}, &[sum], over.dtype, &[])
    }

    /// m + ln Σe^(x − m) over axes, m being the largest x (ONNX ReduceLogSumExp), so that nothing overflows: x\[…\] → x
    /// without the axes, or with 1 in their place; empty `axes` are all of them. Floats. −Inf over an empty set and
    /// where all are −Inf, +Inf where one is, NaN where one is. 16-bit floats are added in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 0..=64), 5.into()]));
    /// g.output("y", g.reduce_log_sum_exp(x, &[0], true));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reduce_log_sum_exp(&self, x: Value, axes: &[i64], keepdims: bool) -> Value {
        let over = match self.reduced("reduce_log_sum_exp", x, axes, FLOATS) {
            Ok(over) => over,
            Err(mistake) => return mistake,
        };
        let g = self.composition("reduce_log_sum_exp");
        let (wide, axes) = (g.widened(x, over.dtype), over.axes());
        let most = g.reduce_max(wide, &axes, true);
        // An infinite maximum is no distance: of all −Inf, e^x is 0, and of +Inf it is infinite, as it should be.
        let shift = g.select(g.is_inf(most, true, true), g.constant_scalar(DType::F32, 0.0), most);
        let logarithm = g.log(g.reduce_sum(g.exp(g.sub(wide, shift)), &axes, true));
        g.finish(Add {}, &[logarithm, shift], over.dtype, &over.gone(keepdims))
    }
}
