//! One value for all elements: an `expand` of rank 0 under its own name.

use crate::builder::{GraphBuilder, Value};
use crate::ops::Expand;
use pumice_types::DimExpr;

impl GraphBuilder {
    /// One value in every element of a shape (ONNX ConstantOfShape): value\[\] → \[shape…\]. Any dtype; no axes give
    /// the value itself. Extents are numbers or expressions.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 1..=64), 8.into()]));
    /// let minus = g.constant_scalar(DType::F32, -1.0);
    /// g.output("y", g.fill(minus, vec![g.dim_of(x, 0), 3.into()]));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn fill(&self, value: Value, shape: Vec<DimExpr>) -> Value {
        match self.checked_operands("fill", &["value"], &[value], |cx| cx.expect_rank(0, 0)) {
            Ok(_) => self.apply_as("fill", Expand { shape }, &[value]),
            Err(mistake) => mistake,
        }
    }
}
