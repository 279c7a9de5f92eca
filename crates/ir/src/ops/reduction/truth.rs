//! Whether any or all of booleans are true, over axes: the largest and the smallest, under their own names.

use crate::builder::{GraphBuilder, Value};
use crate::ops::elementwise::BOOL;
use crate::ops::{ReduceMax, ReduceMin};

impl GraphBuilder {
    /// Whether any x over axes is true: bool\[…\] → bool without the axes, or with 1 in their place; empty `axes` are
    /// all of them. False over an empty set.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([2, 3]));
    /// g.output("broken", g.reduce_any(g.is_nan(x), &[], false));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reduce_any(&self, x: Value, axes: &[i64], keepdims: bool) -> Value {
        match self.reduced("reduce_any", x, axes, BOOL) {
            Ok(over) => {
                let op = ReduceMax { axes: over.axes(), keepdims, noop_with_empty_axes: false };
                self.apply_as("reduce_any", op, &[x])
            }
            Err(mistake) => mistake,
        }
    }

    /// Whether every x over axes is true: bool\[…\] → bool without the axes, or with 1 in their place; empty `axes` are
    /// all of them. True over an empty set.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let (x, y) = (g.input("x", f32([2, 3])), g.input("y", f32([2, 3])));
    /// g.output("same rows", g.reduce_all(g.equal(x, y), &[1], false));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reduce_all(&self, x: Value, axes: &[i64], keepdims: bool) -> Value {
        match self.reduced("reduce_all", x, axes, BOOL) {
            Ok(over) => {
                let op = ReduceMin { axes: over.axes(), keepdims, noop_with_empty_axes: false };
                self.apply_as("reduce_all", op, &[x])
            }
            Err(mistake) => mistake,
        }
    }
}
