//! Norms and sums of powers over axes, as compositions: `reduce_l1`, `reduce_l2`, `reduce_sum_square`.
//!
//! ONNX's `noop_with_empty_axes` leaves their elementwise part: `abs` for the first two, `x²` for the last.

use crate::builder::{Composition, GraphBuilder, Value};
use crate::ops::elementwise::{FLOATS, NUMERIC};
use crate::ops::{Op, Sqrt, Where};
use pumice_types::DType;

impl GraphBuilder {
    /// Σ|x| over axes (ONNX ReduceL1): x\[…\] → x without the axes, or with 1 in their place; empty `axes` are all of
    /// them. Floats and integers; 0 over an empty set, NaN where an element is. Integers wrap in their own width, and
    /// |INT_MIN| is INT_MIN; 16-bit floats are added in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 0..=64), 3.into()]));
    /// g.output("rows", g.reduce_l1(x, &[-1], false));
    /// g.output("all", g.reduce_l1(x, &[], false));
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reduce_l1(&self, x: Value, axes: &[i64], keepdims: bool) -> Value {
        let over = match self.reduced("reduce_l1", x, axes, NUMERIC) {
            Ok(over) => over,
            Err(mistake) => return mistake,
        };
        let g = self.composition("reduce_l1");
        let magnitudes = g.abs(g.widened(x, over.dtype));
        g.finish(over.sum(keepdims), &[magnitudes], over.dtype, &[])
    }

    /// √Σx² over axes (ONNX ReduceL2): x\[…\] → x without the axes, or with 1 in their place; empty `axes` are all of
    /// them. Floats; 0 over an empty set, NaN where an element is. Nothing is scaled: where x² is beyond f32 the result
    /// is infinite. 16-bit floats are squared and added in f32 and rounded once. The gradient of zeros is 0.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([2, 3]));
    /// g.output("lengths", g.reduce_l2(x, &[1], true));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reduce_l2(&self, x: Value, axes: &[i64], keepdims: bool) -> Value {
        let over = match self.reduced("reduce_l2", x, axes, FLOATS) {
            Ok(over) => over,
            Err(mistake) => return mistake,
        };
        let g = self.composition("reduce_l2");
        let squares = g.square(g.widened(x, over.dtype));
        let sum = g.apply(over.sum(keepdims), &[squares]);
        g.root_of_squares(sum, over.dtype, &[])
    }

    /// Σx² over axes (ONNX ReduceSumSquare): x\[…\] → x without the axes, or with 1 in their place; empty `axes` are
    /// all of them. Floats and integers; 0 over an empty set, NaN where an element is. Nothing is scaled: where x² is
    /// beyond f32 the result is infinite. Integers wrap; 16-bit floats are squared and added in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, i32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", i32([2, 3]));
    /// g.output("squares", g.reduce_sum_square(x, &[0], false));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reduce_sum_square(&self, x: Value, axes: &[i64], keepdims: bool) -> Value {
        let over = match self.reduced("reduce_sum_square", x, axes, NUMERIC) {
            Ok(over) => over,
            Err(mistake) => return mistake,
        };
        let g = self.composition("reduce_sum_square");
        let wide = g.widened(x, over.dtype);
        let squares = if over.dtype.is_float() { g.square(wide) } else { g.mul(wide, wide) };
        g.finish(over.sum(keepdims), &[squares], over.dtype, &[])
    }
}

impl Composition {
    /// The end of a length: √sum, without the axes that are gone.
    #[track_caller]
    pub(crate) fn root_of_squares(self, sum: Value, dtype: DType, gone: &[i64]) -> Value {
        self.root_of_powers(Sqrt {}, sum, dtype, gone)
    }

    /// The end of a length: a root of a sum of powers, without the axes that are gone. That of 0 is not taken: its
    /// slope is infinite, and the gradient of no difference would be 0·∞, where it is 0.
    #[track_caller]
    pub(crate) fn root_of_powers(self, root: impl Into<Op>, sum: Value, dtype: DType, gone: &[i64]) -> Value {
        let [zero, one] = [0.0, 1.0].map(|v| self.constant_scalar(DType::F32, v));
        let none = self.equal(sum, zero);
        let root = self.apply(root, &[self.select(none, one, sum)]);
        self.finish(Where {}, &[none, zero, root], dtype, gone)
    }
}
