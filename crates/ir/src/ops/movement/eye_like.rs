//! Matrices with ones on a diagonal, as a composition.

use crate::builder::{GraphBuilder, Value};
use crate::infer::Infer;
use crate::ops::Cast;
use pumice_types::DType;

impl GraphBuilder {
    /// 1 where j − i = k, 0 elsewhere, in the shape of a matrix (ONNX EyeLike): x\[r, c\] → `dtype`\[r, c\]; without
    /// `dtype` that of x. Elements of x are not read. Any k and any dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([16, 16]));
    /// g.output("raised", g.add(x, g.eye_like(x, None, 0)));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn eye_like(&self, x: Value, dtype: Option<DType>, k: i64) -> Value {
        let rule = |cx: &Infer<'_>| cx.expect_rank(0, 2);
        let ty = match self.checked_operands("eye_like", &["x"], &[x], rule) {
            Ok(types) => types[0].clone(),
            Err(mistake) => return mistake,
        };
        let g = self.composition("eye_like");
        let distance = g.past_diagonal(&ty.shape);
        let is_on = g.equal(distance, g.diagonal(k));
        g.last().apply(Cast { to: dtype.unwrap_or(ty.dtype()) }, &[is_on])
    }
}
