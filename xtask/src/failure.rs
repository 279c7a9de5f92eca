//! Why a command of xtask stopped. In: what went wrong, with its data. Out: one line for the terminal.
//! Never here: printing, exit codes, recovery.

use std::path::{Path, PathBuf};

/// What every command returns.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A reason to stop with a non-zero exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file concerned.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program could not be started.
    #[error("cannot start `{program}`: {source}; is it installed and on PATH?")]
    Start {
        /// Program name as it was called.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program ran and ended with an error.
    #[error("`{program}` ended with {status}")]
    Child {
        /// Program with its arguments.
        program: String,
        /// Exit status in words.
        status: String,
    },
    /// A file does not have the form this command needs.
    #[error("{path}:{line}: {message}")]
    Form {
        /// Path relative to the checkout.
        path: String,
        /// 1-based line.
        line: usize,
        /// What was expected.
        message: String,
    },
    /// A check found something; the findings were printed already.
    #[error("{count} {what}")]
    Findings {
        /// How many.
        count: usize,
        /// Plural noun for them.
        what: &'static str,
    },
    /// A Vulkan driver was required and none answers.
    #[error("a Vulkan driver is required and none was found: {reason}")]
    NoDriver {
        /// What the loader or the probe said.
        reason: String,
    },
    /// Everything was said already, last of all how it ended.
    #[error("it failed; see above")]
    Reported,
    /// Anything that a sentence says best.
    #[error("{0}")]
    Said(String),
}

impl Failure {
    /// A closure for `map_err` that remembers the file.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Failure + '_ {
        move |source| Failure::File { path: path.to_owned(), source }
    }

    /// A failure that is one sentence.
    pub fn said(text: impl Into<String>) -> Failure {
        Failure::Said(text.into())
    }
}
