//! The divergence of Kullback and Leibler.

use super::reduced::LossReduction;
use crate::builder::{GraphBuilder, Value};
use crate::ops::Sub;
use pumice_types::DType;

/// Attributes of [`GraphBuilder::kl_div`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KlDiv {
    /// What becomes of the terms.
    pub reduction: LossReduction,
}

impl GraphBuilder {
    /// target·ln target − target·prediction and its reduction (PyTorch `kl_div`): the prediction is a logarithm of
    /// probabilities, the target is probabilities; both of one float dtype and one shape → the loss in that dtype, of
    /// rank 0 unless terms stay, and its weight, an f32 of rank 0. A mean divides by the number of elements, which is
    /// its weight; for the divergence of each row, which a batch is a mean of, take the sum and divide by the rows.
    ///
    /// target·ln target is 0 where the target is 0; that times a prediction of −Inf is NaN, as any 0·∞. A negative
    /// target gives NaN, NaN propagates, a mean over no terms is NaN. Nothing broadcasts. 16-bit floats are computed in
    /// f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::kl_div::KlDiv;
    /// let g = GraphBuilder::new("g");
    /// let (y, t) = (g.input("y", f32([4, 3])), g.input("t", f32([4, 3])));
    /// let (loss, _) = g.kl_div(g.log_softmax(y, -1), t, KlDiv::default());
    /// g.output("loss", loss);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn kl_div(&self, prediction: Value, target: Value, op: KlDiv) -> (Value, Value) {
        let ty = match self.alike("kl_div", &["prediction", "target"], &[prediction, target]) {
            Ok(ty) => ty,
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition("kl_div");
        let (y, t) = (g.widened(prediction, ty.dtype()), g.widened(target, ty.dtype()));
        let zero = g.constant_scalar(DType::F32, 0.0);
        let entropy = g.select(g.equal(t, zero), zero, g.mul(t, g.log(t)));
        let cross = g.mul(t, y);
        g.loss(op.reduction, (Sub {}.into(), &[entropy, cross]), (prediction, &ty.shape), ty.dtype())
    }
}
