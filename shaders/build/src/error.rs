//! What can go wrong while building kernels.

use std::path::{Path, PathBuf};

/// A kernel that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The GLSL compiler refuses.
    #[error("{0}")]
    Glsl(String),
    /// The SPIR-V validator or optimizer refuses.
    #[error("spirv-tools: {0}")]
    Spirv(String),
    /// The module does not fit its declaration.
    #[error("{module}: {what}")]
    Mismatch {
        /// Variant and form.
        module: String,
        /// What does not fit.
        what: String,
    },
    /// The manifest cannot be read.
    #[error("manifest: {0}")]
    Manifest(#[from] serde_json::Error),
}

impl BuildError {
    /// An error of a file.
    pub fn file(path: &Path, source: std::io::Error) -> BuildError {
        BuildError::File { path: path.to_owned(), source }
    }
}
