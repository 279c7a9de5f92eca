//! What is wrong with a graph that is to be trained, or with how.

use crate::init::Rule;
use pumice_ir::{BuildErrors, PatchError};
use std::fmt;

/// One mistake.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// Nothing is to fall.
    #[error("the graph has no output `loss`; name the value that is to fall with `g.output(\"loss\", …)`")]
    NoLoss,
    /// An output that must be one float is not.
    #[error("the output `{output}` is {ty}; it must be one float, of rank 0")]
    NoNumber {
        /// `loss`, `weight` or `penalty`.
        output: &'static str,
        /// Its type.
        ty: String,
    },
    /// A weight that training would change.
    #[error("the output `weight` moves with `{param}`, which is trained; it must depend on data alone")]
    WeightMoves {
        /// The trained param.
        param: String,
    },
    /// A penalty that needs a batch, where updates have none.
    #[error(
        "the output `penalty` needs `{input}`; it is added once an update of several batches, so it may need params alone"
    )]
    PenaltyNeeds {
        /// The input or state.
        input: String,
    },
    /// A param that cannot be trained is asked to be.
    #[error(
        "the param `{param}` is {encoding}; only float params are trained: freeze it, or decode it first"
    )]
    NotTrainable {
        /// The param.
        param: String,
        /// How it is stored.
        encoding: String,
    },
    /// A param without influence on the loss.
    #[error(
        "the loss does not depend on the param `{param}` by any way that has a gradient; freeze it in a group, or say `allow_unused`"
    )]
    NotReached {
        /// The param.
        param: String,
    },
    /// No param is trained.
    #[error("no param is trained: the graph has no float param that is not frozen")]
    NothingTrained,
    /// A pattern that no param has.
    #[error("the pattern `{pattern}` of group {group} matches no param")]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The number of the group, from 1.
        group: usize,
    },
    /// A param that is in two groups.
    #[error("the param `{param}` is in groups {first} and {second}; a param is in one")]
    TwoGroups {
        /// The param.
        param: String,
        /// The number of the one, from 1.
        first: usize,
        /// The number of the other.
        second: usize,
    },
    /// The optimizer's own numbers do not fit.
    #[error("optimizer {optimizer}: {reason}")]
    Optimizer {
        /// Its name.
        optimizer: String,
        /// What is wrong.
        reason: String,
    },
    /// The recipe contradicts itself, or has a number that cannot be.
    #[error("the recipe: {0}")]
    Recipe(String),
    /// A state that is no running statistic.
    #[error("the state `{state}` is {what}; a graph that is trained has no states but running statistics")]
    State {
        /// The state.
        state: String,
        /// What it is.
        what: &'static str,
    },
    /// A loss that is made of what is written only where it is finite.
    #[error(
        "the loss needs what `{node}` writes to the state `{state}`, which is written where the loss is finite; \
         read the state before, or take the value that is written"
    )]
    LossNeedsWrite {
        /// The state.
        state: String,
        /// The write.
        node: String,
    },
    /// A name that is for what training adds to a graph.
    #[error(
        "the {kind} `{name}` needs another name: those that begin with `train/` are for what training adds"
    )]
    Reserved {
        /// What has the name: an input, a param, a state or a scalar.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// An input that cannot be rows of a data set.
    #[error("the input `{input}` is no data set: {reason}")]
    DataSet {
        /// The input.
        input: String,
        /// Why.
        reason: String,
    },
    /// Batches are to be cut, and nothing says along what.
    #[error(
        "batches are to be cut into micro-batches; `Recipe::rows_apart` must say along which symbol their rows do not meet"
    )]
    NoRowsApart,
    /// A symbol along which batches cannot be cut.
    #[error("batches cannot be cut along `{symbol}`: {reason}")]
    NotCut {
        /// The symbol.
        symbol: String,
        /// Why.
        reason: String,
    },
    /// An input that is cut along another axis than its first, or cannot be cut at all.
    #[error(
        "the input `{input}` is {ty}; to be cut into rows it may have `{symbol}` as its first extent alone"
    )]
    NotRows {
        /// The input.
        input: String,
        /// Its type.
        ty: String,
        /// The symbol along which batches are cut.
        symbol: String,
    },
    /// A node in which rows of a batch meet that is to be cut.
    #[error(
        "{op} `{node}` {how}, so rows of a batch meet; `Recipe::per_micro_batch` makes it that of each micro-batch"
    )]
    RowsMeet {
        /// The node.
        node: String,
        /// Its op.
        op: &'static str,
        /// How.
        how: &'static str,
    },
    /// An output that a recipe asks `predict` for.
    #[error("there is no output `{0}` to predict")]
    NoOutput(String),
    /// A param that nothing says the first values of.
    #[error("no rule says how the param `{param}` begins")]
    NoRule {
        /// The param.
        param: String,
    },
    /// A rule of first values whose own numbers are wrong, whatever the params.
    #[error("the rule {rule:?} of `{pattern}`: {reason}")]
    Rule {
        /// The pattern that it is for.
        pattern: String,
        /// The rule.
        rule: Rule,
        /// What is wrong.
        reason: String,
    },
    /// A rule that does not fit.
    #[error("the param `{param}` cannot begin so: {reason}")]
    Init {
        /// The param.
        param: String,
        /// Why.
        reason: String,
    },
    /// Mistakes in the graph of an entry: an op without a gradient, a name that is taken.
    #[error("the entry `{entry}`: {errors}")]
    Entry {
        /// The entry.
        entry: &'static str,
        /// What is wrong.
        errors: BuildErrors,
    },
    /// The forward graph cannot be rewritten so.
    #[error("the entry `{entry}`: {error}")]
    Rewrite {
        /// The entry.
        entry: &'static str,
        /// Why.
        error: PatchError,
    },
}

pumice_types::debug_as_display!(TrainError);

/// Every mistake at once.
#[derive(Clone, PartialEq)]
pub struct TrainErrors(pub Vec<TrainError>);

impl fmt::Display for TrainErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(f, "1 mistake in what is to be trained:")?,
            n => write!(f, "{n} mistakes in what is to be trained:")?,
        }
        self.0.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

pumice_types::debug_as_display!(TrainErrors);

impl std::error::Error for TrainErrors {}
