//! Losses.

use super::call::Call;
use super::{OnnxError, Results, Rule, rule};
use pumice_ir::ops::LossReduction;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;

pub(super) const RULES: &[Rule] = &[
    rule("NegativeLogLikelihoodLoss", 12, nll_loss),
    rule("SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy),
];

fn reduction(c: &mut Call<'_>) -> Result<LossReduction, OnnxError> {
    let words = [("none", LossReduction::None), ("sum", LossReduction::Sum), ("mean", LossReduction::Mean)];
    c.choice("reduction", "mean", &words)
}

fn nll_loss(c: &mut Call<'_>) -> Results {
    let (logp, target, weight) = (c.x(0)?, c.x(1)?, c.opt(2));
    let op = NllLoss { reduction: reduction(c)?, ignore_index: c.opt_int_of("ignore_index")? };
    Ok(vec![c.g.nll_loss(logp, target, weight, op).0])
}

/// The second result is the log of the soft-max.
fn softmax_cross_entropy(c: &mut Call<'_>) -> Results {
    let (scores, target, weight) = (c.x(0)?, c.x(1)?, c.opt(2));
    let (reduction, ignore_index) = (reduction(c)?, c.opt_int_of("ignore_index")?);
    let op = SoftmaxCrossEntropy { reduction, ignore_index, ..SoftmaxCrossEntropy::default() };
    let (loss, _) = c.g.softmax_cross_entropy(scores, target, weight, op);
    let log = c.wants(1).then(|| c.g.log_softmax(scores, 1));
    Ok([Some(loss), log].into_iter().flatten().collect())
}
