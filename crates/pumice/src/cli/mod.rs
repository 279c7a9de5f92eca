//! The commands of the `pumice` binary, as functions: arguments in, text to a writer, whether all is well out.

pub mod bench;
pub mod compile;
pub mod compiler;
pub mod convert;
pub mod devices;
pub mod doctor;
pub mod escape;
pub mod hub;
pub mod inspect;
pub mod interrupts;
pub(crate) mod kept_table;
pub mod perplexity;
pub(crate) mod piece;
pub(crate) mod progress;
pub mod reading;
pub mod selftest;
pub(crate) mod texts;
pub mod today;
pub mod tokenize;
mod trial;
pub mod tune;
pub(crate) mod words;

use crate::apart::OverwriteError;
use crate::embed::EmbedError;
use crate::error::Error;
use crate::tune::TuneError;
use std::io::{ErrorKind, Write};

/// Why a command ended early.
#[derive(thiserror::Error)]
pub enum CommandError {
    /// Whoever read the output has seen enough: no mistake.
    #[error("the output was closed")]
    Closed,
    /// A signal ended it in order.
    #[error("interrupted")]
    Interrupted,
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Write(std::io::Error),
    /// A device that cannot be opened, or one of `pumice embed`'s.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A model, a plan or a run.
    #[error(transparent)]
    Pumice(#[from] Error),
    /// An output that is an input.
    #[error(transparent)]
    Overwrite(#[from] OverwriteError),
    /// Measuring kernels.
    #[error(transparent)]
    Tune(#[from] TuneError),
    /// Arguments that ask for nothing.
    #[error("{0}")]
    Usage(String),
}

pumice_types::debug_as_display!(CommandError);

/// What a command returns: whether all is well, or why it ended early.
pub type Outcome = Result<bool, CommandError>;

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> CommandError {
        if error.kind() == ErrorKind::BrokenPipe { CommandError::Closed } else { CommandError::Write(error) }
    }
}

/// A line, seen at once.
fn say(out: &mut dyn Write, line: impl std::fmt::Display) -> Result<(), CommandError> {
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
