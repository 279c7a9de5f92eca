//! The upper or lower triangle of matrices, as a composition.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Where;
use pumice_types::{DType, DimExpr};

impl GraphBuilder {
    /// The triangle of each matrix on and above its diagonal `k`, or on and below it where `upper` is false (ONNX
    /// Trilu): x\[…, r, c\] → the same type; element (i, j) stays where j − i ≥ k, or ≤ k, and is 0 elsewhere, NaN
    /// included. Any k and any dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let scores = g.input("scores", f32([4, 16, 16]));
    /// g.output("causal", g.trilu(scores, 0, false));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn trilu(&self, x: Value, k: i64, upper: bool) -> Value {
        let ty = match self.checked_operands("trilu", &["x"], &[x], expect_matrix) {
            Ok(types) => types[0].clone(),
            Err(mistake) => return mistake,
        };
        let g = self.composition("trilu");
        let (distance, k) = (g.past_diagonal(&ty.shape[ty.rank() - 2..]), g.diagonal(k));
        let stays = if upper { g.greater_or_equal(distance, k) } else { g.less_or_equal(distance, k) };
        let zero = g.constant_scalar(ty.dtype(), 0.0);
        g.last().apply(Where {}, &[stays, x, zero])
    }

    /// j − i for each element (i, j) of a matrix of these extents.
    #[track_caller]
    pub(super) fn past_diagonal(&self, extents: &[DimExpr]) -> Value {
        let i = self.unsqueeze(self.range(0, extents[0].clone(), 1, DType::I32), &[1]);
        self.sub(self.range(0, extents[1].clone(), 1, DType::I32), i)
    }

    /// The number of a diagonal. Those of elements lie between ±(2^31 − 1), so a k beyond is as good as the next
    /// number.
    #[track_caller]
    pub(super) fn diagonal(&self, k: i64) -> Value {
        self.constant_scalar(DType::I32, k.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as f64)
    }
}

fn expect_matrix(cx: &Infer<'_>) -> Result<(), OpError> {
    match cx.ty(0)?.rank() {
        rank @ (0 | 1) => {
            let expected = "expected two axes or more".into();
            Err(OpError::Rank { operand: cx.name(0), rank, expected })
        }
        _ => Ok(()),
    }
}
