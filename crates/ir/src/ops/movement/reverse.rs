//! Axes backward: a `slice` under its own name.

use crate::builder::{GraphBuilder, Value};
use crate::ops::Slice;
use pumice_types::DimExpr;

impl GraphBuilder {
    /// The elements of these axes backward (NumPy flip): x\[…\] → the same type, y\[…, i, …\] = x\[…, n − 1 − i, …\].
    /// No axes leave x as it is. Any dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([2, 3]));
    /// g.output("y", g.reverse(x, &[-1]));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reverse(&self, x: Value, axes: &[i64]) -> Value {
        let all = |value: i64| vec![DimExpr::constant(value); axes.len()];
        let steps = vec![-1; axes.len()];
        let (starts, ends) = (all(-1), all(i64::MIN));
        self.apply_as("reverse", Slice { starts, ends, axes: axes.to_vec(), steps, exact: false }, &[x])
    }
}
