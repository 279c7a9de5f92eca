//! What can go wrong between a graph and its trained weights.

use pumice_ir::ops::IndexRange;
use pumice_runtime::{NameKind, RuntimeError};
use pumice_train::{IndexInput, TrainErrors, names};
use pumice_types::{Bytes, SourceError};

/// Any error of a [`Trainer`](super::Trainer).
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TrainerError {
    /// Mistakes of the graph or the recipe, all of them.
    #[error(transparent)]
    Recipe(#[from] TrainErrors),
    /// The entries do not become a program.
    #[error(transparent)]
    Program(#[from] crate::Error),
    /// A batch that does not fit the inputs, a report of an op, or the device.
    #[error(transparent)]
    Run(RuntimeError),
    /// Weights or states that were never given.
    #[error(
        "no value for {}: give params by `Trainer::init`, params and states by `Trainer::load`, or each by \
         `Trainer::set`",
        names.join(", ")
    )]
    NotSet {
        /// Their names.
        names: Vec<String>,
    },
    /// A row of a data set before its first.
    #[error("a batch asks for row {row} of the data set: rows are counted from 0")]
    Row {
        /// The row.
        row: i32,
    },
    /// A data set that was never given.
    #[error("no rows for the input {}: give them by `Trainer::set_data`", names.join(", "))]
    NoData {
        /// Names of the inputs.
        names: Vec<String>,
    },
    /// Loss, gradients or penalty are not finite, and the recipe stops there: the penalty, or what it makes of the
    /// loss, where loss and norm are.
    #[error(
        "update {update} was not made: the loss is {loss}, the norm of the gradients {norm}{}{}; weights and moments \
         are those before it (a lower rate, `clip_norm`, or `on_nonfinite(OnNonfinite::Skip)` may help)",
        with_penalty(*loss, *norm), at_scale(*scale)
    )]
    NotFinite {
        /// Which update it would have been, counted from 1.
        update: u64,
        /// The loss.
        loss: f64,
        /// The norm of all gradients.
        norm: f64,
        /// By what the loss is multiplied from now on, where the recipe scales it.
        scale: Option<f64>,
    },
    /// Too few or too many batches for one update.
    #[error("an update is made of 1 to {most} batches, {given} are given")]
    Batches {
        /// How many are given.
        given: usize,
        /// As many as the recipe accumulates.
        most: usize,
    },
    /// A batch that gives what the trainer gives.
    #[error("a batch must not name `{name}`: the trainer fills that input itself")]
    Reserved {
        /// The input.
        name: String,
    },
    /// A batch that cannot be cut into micro-batches; nothing of its update ran, nor of any after it.
    #[error("a batch has {rows} rows along `{symbol}`: {reason}")]
    Rows {
        /// The symbol along which batches are cut.
        symbol: String,
        /// The rows of its first input that is cut.
        rows: u64,
        /// What is wrong.
        reason: String,
    },
    /// A batch or a data set with an index out of range: a target that is no class, an id that the table has no row of.
    #[error(
        "`{}` is {index} at {position:?}: `{}`{} takes {}",
        input.name, input.op, at_site(input), shown(&input.range)
    )]
    Index {
        /// The input, and the op that takes it.
        input: IndexInput,
        /// Its place in the tensor, the row first.
        position: Vec<u64>,
        /// What it is.
        index: i64,
    },
    /// A program that takes more memory than there is.
    #[error(
        "the program needs {} on the device {}, and has {}: {help}",
        beside(*needed, *available), of_rows(*rows), beside(*available, *needed)
    )]
    OutOfMemory {
        /// Bytes of weights, states, scratch, inputs and outputs of the smallest plan that was found, of the
        /// micro-batch that needs least where that is chosen: so much is enough.
        needed: Bytes,
        /// How many it may take: [`TrainOptions::memory`](super::TrainOptions::memory), or what the device has free.
        available: Bytes,
        /// Rows of a micro-batch; none of whole batches.
        rows: Option<u64>,
        /// What would help.
        help: String,
    },
    /// A learning rate below 0, or a number of an update that is not finite in f32.
    #[error("the {name} of update {update} is {number:e}; it must {}", as_it_must(*number))]
    Number {
        /// Which update, counted from 1.
        update: u64,
        /// What the number is.
        name: String,
        /// The number.
        number: f64,
    },
    /// An entry that this graph or recipe does not have.
    #[error("there is no entry `{entry}`: {why}")]
    NoEntry {
        /// Its name.
        entry: &'static str,
        /// Why.
        why: &'static str,
    },
    /// Weights in a file that cannot be read.
    #[error("{source}")]
    Source {
        /// Which.
        name: String,
        /// Why.
        source: SourceError,
    },
}

pumice_types::debug_as_display!(TrainerError);

impl From<RuntimeError> for TrainerError {
    /// Of the inputs that there are, those that a trainer fills itself are none to choose from.
    fn from(error: RuntimeError) -> TrainerError {
        TrainerError::Run(match error {
            RuntimeError::UnknownName { kind: NameKind::Input, name, mut known } => {
                known.retain(|known| !known.starts_with(names::OWN));
                RuntimeError::UnknownName { kind: NameKind::Input, name, known }
            }
            error => error,
        })
    }
}

/// What is not finite where loss and gradients are.
fn with_penalty(loss: f64, norm: f64) -> &'static str {
    match loss.is_finite() && norm.is_finite() {
        true => ", but the penalty, or its sum with the loss, is not finite",
        false => "",
    }
}

/// A size beside another one, to the byte where few digits do not tell them apart.
fn beside(bytes: Bytes, other: Bytes) -> String {
    let (shown, exact) = (bytes.to_string(), format!("{} bytes", bytes.0));
    if shown == other.to_string() { exact } else { shown }
}

fn at_scale(scale: Option<f64>) -> String {
    scale.map_or_else(String::new, |scale| format!(", the scale of the loss is now {scale}"))
}

/// What is wrong with a number: one that f32 has is a rate.
fn as_it_must(number: f64) -> &'static str {
    if (number as f32).is_finite() { "not be below 0" } else { "be finite in f32" }
}

fn at_site(input: &IndexInput) -> String {
    input.site.as_ref().map_or_else(String::new, |site| format!(" ({site})"))
}

fn shown(range: &IndexRange) -> String {
    let besides = range.besides.map_or_else(String::new, |index| format!(", and {index}"));
    match range.within.is_empty() {
        true => format!("none{besides}"),
        false => format!("{} to {}{besides}", range.within.start, range.within.end - 1),
    }
}

fn of_rows(rows: Option<u64>) -> String {
    match rows {
        None => "for whole batches".to_owned(),
        Some(1) => "even for micro-batches of 1 row".to_owned(),
        Some(rows) => format!("for micro-batches of {rows} rows"),
    }
}
