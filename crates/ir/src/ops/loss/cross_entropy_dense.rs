//! The cross-entropy of classes against a distribution.

use super::reduced::{LossReduction, same_shape};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Neg;
use crate::ops::elementwise::FLOATS;

/// Attributes of [`GraphBuilder::cross_entropy_dense`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CrossEntropyDense {
    /// What becomes of the terms, one for each row.
    pub reduction: LossReduction,
}

impl GraphBuilder {
    /// −Σ target·logsoftmax(logits) over classes for each row, and its reduction over rows (PyTorch `cross_entropy`
    /// with probabilities): logits and target \[B, C\] of one float dtype → the loss in that dtype, \[B\] where terms
    /// stay, else of rank 0, and its weight, an f32 of rank 0: the number of rows of a mean, else 1. A row of a target
    /// need not sum to 1; a one-hot row is the class's own negative log-likelihood. A logit of −Inf beside a target of
    /// 0 is NaN, as any 0·∞. NaN propagates; a mean over no rows is NaN, rows of no classes are 0. 16-bit floats are
    /// computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// # use pumice_ir::ops::cross_entropy_dense::CrossEntropyDense;
    /// let g = GraphBuilder::new("g");
    /// let rows = |name: &str| g.input(name, f32([sym("b", 1..=8), 10.into()]));
    /// let (loss, weight) = g.cross_entropy_dense(rows("logits"), rows("target"), CrossEntropyDense::default());
    /// g.output("loss", loss);
    /// g.output("rows", weight);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn cross_entropy_dense(&self, logits: Value, target: Value, op: CrossEntropyDense) -> (Value, Value) {
        const METHOD: &str = "cross_entropy_dense";
        let ty = match self.checked_operands(METHOD, &["logits", "target"], &[logits, target], fit) {
            Ok(types) => types[0].clone(),
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition(METHOD);
        let (x, t) = (g.widened(logits, ty.dtype()), g.widened(target, ty.dtype()));
        let sums = g.reduce_sum(g.mul(t, g.log_softmax(x, 1)), &[1], false);
        g.loss(op.reduction, (Neg {}.into(), &[sums]), (logits, &ty.shape[..1]), ty.dtype())
    }
}

/// Rows of classes, alike.
fn fit(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.same_dtype(0, 1)?;
    cx.expect_rank(0, 2)?;
    same_shape(cx, 0, 1)
}
