//! The mean absolute error.

use super::reduced::LossReduction;
use crate::builder::{GraphBuilder, Value};
use crate::ops::Abs;

/// Attributes of [`GraphBuilder::l1`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct L1 {
    /// What becomes of the terms.
    pub reduction: LossReduction,
}

impl GraphBuilder {
    /// |prediction − target| and its reduction (PyTorch `l1_loss`): two tensors of one float dtype and one shape → the
    /// loss in that dtype, of rank 0 unless terms stay, and its weight, an f32 of rank 0: the number of terms of a
    /// mean, else 1. Nothing broadcasts. NaN propagates, the difference of equal infinities is NaN, and a mean over no
    /// terms is NaN. 16-bit floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::l1::L1;
    /// # use pumice_ir::ops::LossReduction;
    /// let g = GraphBuilder::new("g");
    /// let (y, t) = (g.input("y", f32([4, 3])), g.input("t", f32([4, 3])));
    /// let (loss, _) = g.l1(y, t, L1 { reduction: LossReduction::Sum });
    /// g.output("loss", loss);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn l1(&self, prediction: Value, target: Value, op: L1) -> (Value, Value) {
        let ty = match self.alike("l1", &["prediction", "target"], &[prediction, target]) {
            Ok(ty) => ty,
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition("l1");
        let d = g.sub(g.widened(prediction, ty.dtype()), g.widened(target, ty.dtype()));
        g.loss(op.reduction, (Abs {}.into(), &[d]), (prediction, &ty.shape), ty.dtype())
    }
}
