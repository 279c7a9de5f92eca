//! Evaluation at compile time, as a border: `opt` folds constants through this trait and so does not depend on the
//! evaluator.

use crate::graph::Graph;
use pumice_types::Tensor;

/// Evaluates graphs whose only leaves are constants.
pub trait ConstEval {
    /// The outputs of a graph without inputs, params, states, scalars or symbols. Dtype and rounding are those of the
    /// run-time path. Errors are text for people; the caller keeps the node unfolded.
    fn eval(&self, graph: &Graph) -> Result<Vec<Tensor>, String>;
}
