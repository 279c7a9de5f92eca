//! The loss of pairs among the rows of a batch: every other row is a negative.

use super::reduced::LossReduction;
use super::softmax_cross_entropy::SoftmaxCrossEntropy;
use crate::attr::FloatRange;
use crate::builder::{GraphBuilder, Value, in_range};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use pumice_types::{DType, DimExpr};

/// Attributes of [`GraphBuilder::in_batch_negatives`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InBatchNegatives {
    /// What becomes of the terms, one for each anchor.
    pub reduction: LossReduction,
    /// What cosines are multiplied by, the inverse of a temperature: finite and positive.
    pub scale: f32,
}

impl Default for InBatchNegatives {
    fn default() -> InBatchNegatives {
        InBatchNegatives { reduction: LossReduction::Mean, scale: 20.0 }
    }
}

impl GraphBuilder {
    /// The cross-entropy of scale·cos(anchor, candidate), and its reduction over anchors: anchors \[B, D\] and
    /// candidates \[B·k, D\] of one float dtype → the loss in that dtype, \[B\] where terms stay, else of rank 0, and
    /// its weight, an f32 of rank 0: the number of anchors of a mean, else 1. Candidate i is the right one of anchor
    /// i, all others are wrong ones; k is any number from 1 on, and of a batch of one pair the loss is 0. Rows are
    /// brought to length 1 as by [`GraphBuilder::lp_normalization`], so that a row of zeros has the cosine 0 and the
    /// gradient 0. NaN propagates; a mean over no anchors is NaN. Since rows meet, the loss of a batch is not that of
    /// its parts. 16-bit floats are computed in f32 and rounded once. A scale that is not finite and positive is a
    /// mistake.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::in_batch_negatives::InBatchNegatives;
    /// let g = GraphBuilder::new("g");
    /// // Each question with its answer and, after all answers, a wrong one for each.
    /// let (questions, answers) = (g.input("questions", f32([8, 64])), g.input("answers", f32([16, 64])));
    /// let (loss, _) = g.in_batch_negatives(questions, answers, InBatchNegatives::default());
    /// g.output("loss", loss);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn in_batch_negatives(
        &self,
        anchors: Value,
        candidates: Value,
        op: InBatchNegatives,
    ) -> (Value, Value) {
        const METHOD: &str = "in_batch_negatives";
        let operands = [anchors, candidates];
        let types = match self.checked_operands(METHOD, &["anchors", "candidates"], &operands, fit) {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        if let Err(e) = in_range("scale", op.scale, FloatRange::POSITIVE) {
            let mistake = self.wrong_call(METHOD, e);
            return (mistake, mistake);
        }
        let (dtype, rows) = (types[0].dtype(), types[0].shape[0].clone());
        let g = self.composition(METHOD);
        let [anchors, candidates] = operands.map(|rows| g.unit_rows(g.widened(rows, dtype)));
        let cosines = g.matmul(anchors, g.transpose(candidates, &[1, 0]));
        let scores = g.mul(cosines, g.constant_scalar(DType::F32, f64::from(op.scale)));
        let target = g.range(0, rows.clone(), 1, DType::I32);
        let entropy = SoftmaxCrossEntropy { reduction: op.reduction, ..SoftmaxCrossEntropy::default() };
        let (loss, weight) = g.softmax_cross_entropy(scores, target, None, entropy);
        (if dtype == DType::F32 { loss } else { g.cast(loss, dtype) }, weight)
    }
}

/// Rows of one length, and as many candidates as anchors, so many times.
fn fit(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.same_dtype(0, 1)?;
    cx.expect_rank(0, 2)?;
    cx.expect_rank(1, 2)?;
    let (anchors, candidates) = (&cx.ty(0)?.shape, &cx.ty(1)?.shape);
    cx.equal(&anchors[1], &candidates[1], "axis 1 of `anchors` and of `candidates`")?;
    cx.at_most(&anchors[0], &candidates[0], "anchors and candidates")?;
    if candidates[0].exact_quotient(&anchors[0]).is_some() {
        return Ok(());
    }
    let anchors = anchors[0].max_with(&DimExpr::constant(1));
    let whole = &candidates[0].floor_div(&anchors) * &anchors;
    cx.equal(&candidates[0], &whole, "candidates and the anchors that they belong to")
}
