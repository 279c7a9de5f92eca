//! The upper or lower triangle of matrices, as a composition.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Where;
use pumice_types::DType;

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
        let [rows, columns] = [2, 1].map(|from_end| ty.shape[ty.rank() - from_end].clone());
        let g = self.composition("trilu");
        let i = g.unsqueeze(g.range(0, rows, 1, DType::I32), &[1]);
        let stays = g.side_of_diagonal(g.sub(g.range(0, columns, 1, DType::I32), i), k, upper);
        let zero = g.constant_scalar(ty.dtype(), 0.0);
        g.last().apply(Where {}, &[stays, x, zero])
    }

    /// Whether j − i is at least k, or at most. It lies between ±(2^31 − 1), so a k beyond is as good as the next
    /// number.
    #[track_caller]
    fn side_of_diagonal(&self, distance: Value, k: i64, upper: bool) -> Value {
        let k = self.constant_scalar(DType::I32, k.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as f64);
        if upper { self.greater_or_equal(distance, k) } else { self.less_or_equal(distance, k) }
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
