//! What can go wrong between a file of texts and a file of vectors.

use crate::apart::OverwriteError;
use crate::error::Error;
use pumice_types::TableError;
use std::path::PathBuf;

/// Why texts were not embedded.
#[derive(thiserror::Error)]
pub enum EmbedError {
    /// The model or the device.
    #[error(transparent)]
    Pumice(#[from] Error),
    /// A file could not be read or written.
    #[error("{}: {action} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A line that is not text.
    #[error("{}: line {line} is not UTF-8; convert the file, with iconv for example", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A file that holds no selection table.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TableError,
    },
    /// A model that is neither here nor in the hub.
    #[cfg(feature = "hub")]
    #[error("`{name}` is no file or folder here; as a model of the hub: {source}")]
    Hub {
        /// As it was given.
        name: String,
        /// What the hub says.
        source: crate::hub::HubError,
    },
    /// An output that is an input.
    #[error(transparent)]
    Overwrite(#[from] OverwriteError),
    /// Arguments that do not fit together.
    #[error("{0}")]
    Usage(String),
}

pumice_types::debug_as_display!(EmbedError);
