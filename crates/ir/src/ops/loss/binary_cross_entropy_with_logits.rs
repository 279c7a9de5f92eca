//! The cross-entropy of events that happen or not, from the logits of their probabilities.

use super::reduced::LossReduction;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Add;
use crate::ops::elementwise::FLOATS;
use pumice_types::DType;

/// Attributes of [`GraphBuilder::binary_cross_entropy_with_logits`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BinaryCrossEntropyWithLogits {
    /// What becomes of the terms.
    pub reduction: LossReduction,
}

impl GraphBuilder {
    /// max(x, 0) − x·t + ln(1 + e^(−|x|)), which is the cross-entropy of the probability 1/(1 + e^(−x)), and its
    /// reduction (PyTorch `binary_cross_entropy_with_logits`): logits x and targets t of one float dtype and one shape
    /// → the loss in that dtype, of rank 0 unless terms stay, and its weight, an f32 of rank 0: the number of terms of
    /// a mean, else 1.
    ///
    /// With `pos_weight` w, which broadcasts to x, events that happen count w times: w·t·ln(1 + e^(−x)) +
    /// (1 − t)·ln(1 + e^x). A mean divides by the number of terms all the same. Nothing overflows, whatever finite x;
    /// an infinite x is NaN where the formula has ∞ − ∞ or 0·∞. NaN propagates; a mean over no terms is NaN. 16-bit
    /// floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::binary_cross_entropy_with_logits::BinaryCrossEntropyWithLogits;
    /// let g = GraphBuilder::new("g");
    /// let (x, t) = (g.input("x", f32([4, 3])), g.input("t", f32([4, 3])));
    /// let w = g.input("w", f32([3]));
    /// let (loss, _) = g.binary_cross_entropy_with_logits(x, t, Some(w), BinaryCrossEntropyWithLogits::default());
    /// g.output("loss", loss);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn binary_cross_entropy_with_logits(
        &self,
        logits: Value,
        target: Value,
        pos_weight: Option<Value>,
        op: BinaryCrossEntropyWithLogits,
    ) -> (Value, Value) {
        const METHOD: &str = "binary_cross_entropy_with_logits";
        let names = &["logits", "target", "pos_weight"];
        let operands: Vec<Value> = [logits, target].into_iter().chain(pos_weight).collect();
        let ty = match self.checked_operands(METHOD, names, &operands, fit) {
            Ok(types) => types[0].clone(),
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition(METHOD);
        let (x, t) = (g.widened(logits, ty.dtype()), g.widened(target, ty.dtype()));
        let terms = match pos_weight {
            None => [g.sub(g.relu(x), g.mul(x, t)), g.softplus(g.neg(g.abs(x)))],
            Some(w) => {
                let happened = g.mul(g.mul(g.widened(w, ty.dtype()), t), g.softplus(g.neg(x)));
                let one = g.constant_scalar(DType::F32, 1.0);
                [happened, g.mul(g.sub(one, t), g.softplus(x))]
            }
        };
        g.loss(op.reduction, (Add {}.into(), &terms), (logits, &ty.shape), ty.dtype())
    }
}

/// Logits and targets are alike, and weights broadcast to them.
fn fit(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    (1..cx.len()).try_for_each(|i| cx.same_dtype(0, i).map(|_| ()))?;
    super::reduced::same_shape(cx, 0, 1)?;
    match cx.opt(2) {
        Some(w) => cx.broadcast_to(&w.shape, &cx.ty(0)?.shape),
        None => Ok(()),
    }
}
