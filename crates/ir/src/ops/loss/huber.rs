//! Huber's loss: square near zero, linear beyond.

use super::reduced::LossReduction;
use crate::attr::FloatRange;
use crate::builder::{GraphBuilder, Value, in_range};
use crate::ops::Where;
use pumice_types::DType;

/// Attributes of [`GraphBuilder::huber`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Huber {
    /// What becomes of the terms.
    pub reduction: LossReduction,
    /// Where the square ends: finite and positive.
    pub delta: f32,
}

impl Default for Huber {
    fn default() -> Huber {
        Huber { reduction: LossReduction::Mean, delta: 1.0 }
    }
}

impl GraphBuilder {
    /// d²/2 where d = |prediction − target| is at most δ, else δ·(d − δ/2), and its reduction (PyTorch `huber_loss`):
    /// two tensors of one float dtype and one shape → the loss in that dtype, of rank 0 unless terms stay, and its
    /// weight, an f32 of rank 0: the number of terms of a mean, else 1. Nothing broadcasts. NaN propagates, an infinite
    /// d is an infinite loss, and a mean over no terms is NaN. 16-bit floats are computed in f32 and rounded once. A δ
    /// that is not finite and positive is a mistake.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::huber::Huber;
    /// let g = GraphBuilder::new("g");
    /// let (y, t) = (g.input("y", f32([4, 3])), g.input("t", f32([4, 3])));
    /// let (loss, _) = g.huber(y, t, Huber { delta: 0.5, ..Huber::default() });
    /// g.output("loss", loss);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn huber(&self, prediction: Value, target: Value, op: Huber) -> (Value, Value) {
        let ty = match self.alike("huber", &["prediction", "target"], &[prediction, target]) {
            Ok(ty) => ty,
            Err(mistake) => return (mistake, mistake),
        };
        if let Err(e) = in_range("delta", op.delta, FloatRange::POSITIVE) {
            let mistake = self.wrong_call("huber", e);
            return (mistake, mistake);
        }
        let g = self.composition("huber");
        let d = g.abs(g.sub(g.widened(prediction, ty.dtype()), g.widened(target, ty.dtype())));
        let delta = g.constant_scalar(DType::F32, f64::from(op.delta));
        let half = g.constant_scalar(DType::F32, 0.5);
        let square = g.mul(g.mul(d, d), half);
        let line = g.mul(delta, g.sub(d, g.mul(delta, half)));
        let near = g.less_or_equal(d, delta);
        g.loss(op.reduction, (Where {}.into(), &[near, square, line]), (prediction, &ty.shape), ty.dtype())
    }
}
