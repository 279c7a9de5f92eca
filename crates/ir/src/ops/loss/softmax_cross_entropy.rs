//! The cross-entropy of scores and classes given by index.

use super::nll_loss::{NllLoss, classes_by_index};
use super::reduced::LossReduction;
use crate::builder::{GraphBuilder, Value};

/// Attributes of [`GraphBuilder::softmax_cross_entropy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SoftmaxCrossEntropy {
    /// What becomes of the terms, one for each target.
    pub reduction: LossReduction,
    /// The target of terms that are 0 and count for nothing; it may be no class.
    pub ignore_index: Option<i64>,
}

impl GraphBuilder {
    /// [`GraphBuilder::nll_loss`](crate::GraphBuilder::nll_loss) of logsoftmax(scores) over axis 1 (ONNX
    /// SoftmaxCrossEntropyLoss, PyTorch `cross_entropy` without label smoothing): scores \[N, C, d…\], targets of
    /// i32 or i64 \[N, d…\], weights of the classes \[C\] or 1 each → the loss in the scores' dtype, \[N, d…\]
    /// where terms stay, else of rank 0, and its weight, an f32 of rank 0: what a mean was divided by, else 1. For
    /// the logarithms themselves take `g.log_softmax(scores, 1)` beside it: one step computes both.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i32, sym};
    /// # use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
    /// let g = GraphBuilder::new("g");
    /// // The next token of each place; places that are filled up are ignored.
    /// let scores = g.input("scores", f32([8, 1000, 32]));
    /// let next = g.input("next", i32([8, 32]));
    /// let op = SoftmaxCrossEntropy { ignore_index: Some(-100), ..Default::default() };
    /// let (loss, tokens) = g.softmax_cross_entropy(scores, next, None, op);
    /// g.output("loss", loss);
    /// g.output("tokens", tokens);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn softmax_cross_entropy(
        &self,
        scores: Value,
        target: Value,
        class_weight: Option<Value>,
        op: SoftmaxCrossEntropy,
    ) -> (Value, Value) {
        const METHOD: &str = "softmax_cross_entropy";
        const OPERANDS: &[&str] = &["scores", "target", "class_weight"];
        let operands: Vec<Value> = [Some(scores), Some(target), class_weight].into_iter().flatten().collect();
        let types = match self.checked_operands(METHOD, OPERANDS, &operands, classes_by_index) {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition(METHOD);
        let logp = g.log_softmax(g.widened(scores, types[0].dtype()), 1);
        let SoftmaxCrossEntropy { reduction, ignore_index } = op;
        g.negative_log_likelihood(logp, (target, class_weight), &types, NllLoss { reduction, ignore_index })
    }
}
