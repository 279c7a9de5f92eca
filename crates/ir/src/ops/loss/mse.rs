//! The mean square error.

use super::reduced::LossReduction;
use crate::builder::{GraphBuilder, Value};
use crate::ops::Square;

/// Attributes of [`GraphBuilder::mse`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mse {
    /// What becomes of the terms.
    pub reduction: LossReduction,
}

impl GraphBuilder {
    /// (prediction − target)² and its reduction (PyTorch `mse_loss`): two tensors of one float dtype and one shape →
    /// the loss in that dtype, of rank 0 unless terms stay, and its weight, an f32 of rank 0: the number of terms of a
    /// mean, else 1. Nothing broadcasts. NaN propagates, the difference of equal infinities is NaN, and a mean over no
    /// terms is NaN. 16-bit floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// # use pumice_ir::ops::mse::Mse;
    /// let g = GraphBuilder::new("g");
    /// let b = || sym("b", 1..=8);
    /// let (y, t) = (g.input("y", f32([b(), 3.into()])), g.input("t", f32([b(), 3.into()])));
    /// let (loss, weight) = g.mse(y, t, Mse::default());
    /// g.output("loss", loss);
    /// g.output("terms", weight);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn mse(&self, prediction: Value, target: Value, op: Mse) -> (Value, Value) {
        let ty = match self.alike("mse", &["prediction", "target"], &[prediction, target]) {
            Ok(ty) => ty,
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition("mse");
        let d = g.sub(g.widened(prediction, ty.dtype()), g.widened(target, ty.dtype()));
        g.loss(op.reduction, (Square {}.into(), &[d]), (prediction, &ty.shape), ty.dtype())
    }
}
