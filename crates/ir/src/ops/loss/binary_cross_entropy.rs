//! The cross-entropy of events that happen or not, from their probabilities.

use super::reduced::LossReduction;
use crate::builder::{GraphBuilder, Value};
use crate::ops::Neg;
use pumice_types::DType;

/// How far probabilities stay from 0 and 1, so that their logarithms are finite.
const CLAMP: f64 = 1e-7;

/// Attributes of [`GraphBuilder::binary_cross_entropy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BinaryCrossEntropy {
    /// What becomes of the terms.
    pub reduction: LossReduction,
}

impl GraphBuilder {
    /// −t·ln p − (1 − t)·ln(1 − p) and its reduction (as PyTorch `binary_cross_entropy`, which bounds the logarithms
    /// and not p): probabilities p and targets t of one float dtype and one shape → the loss in that dtype, of rank 0
    /// unless terms stay, and its weight, an f32 of rank 0: the number of terms of a mean, else 1. p is clamped to 1e-7
    /// and 1 − 1e-7, whose f32 is 1 − 2⁻²³, so that the loss is at most 16.2 for targets from 0 to 1. NaN propagates; a
    /// mean over no terms is NaN. Nothing broadcasts. 16-bit floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::binary_cross_entropy::BinaryCrossEntropy;
    /// let g = GraphBuilder::new("g");
    /// let (p, t) = (g.sigmoid(g.input("y", f32([4, 3]))), g.input("t", f32([4, 3])));
    /// let (loss, _) = g.binary_cross_entropy(p, t, BinaryCrossEntropy::default());
    /// g.output("loss", loss);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn binary_cross_entropy(&self, p: Value, target: Value, op: BinaryCrossEntropy) -> (Value, Value) {
        const METHOD: &str = "binary_cross_entropy";
        let ty = match self.alike(METHOD, &["p", "target"], &[p, target]) {
            Ok(ty) => ty,
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition(METHOD);
        let (wide, t) = (g.widened(p, ty.dtype()), g.widened(target, ty.dtype()));
        let inside = g.clip(wide, Some(CLAMP), Some(1.0 - CLAMP));
        let happened = g.mul(t, g.log(inside));
        let one = g.constant_scalar(DType::F32, 1.0);
        let not = g.mul(g.sub(one, t), g.log1p(g.neg(inside)));
        let sum = g.add(happened, not);
        g.loss(op.reduction, (Neg {}.into(), &[sum]), (p, &ty.shape), ty.dtype())
    }
}
