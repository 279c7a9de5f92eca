//! Where weights come from, as whoever puts them on a device sees it: names, and bytes that are read where they are
//! wanted.

use crate::encoding::Encoding;
use std::sync::Arc;

/// How a tensor is stored by a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// How its elements lie in its bytes.
    pub encoding: Encoding,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
}

/// Tensors by name, read piece by piece into memory that is there already: a file is never held as a whole.
pub trait ByteSource: Sync {
    /// How a tensor is stored.
    ///
    /// # Errors
    /// [`SourceError`] for a name that is not there.
    fn stored(&self, name: &str) -> Result<Stored, SourceError>;

    /// Reads `to.len()` bytes of a tensor from byte `offset` on, row-major and little-endian.
    ///
    /// # Errors
    /// [`SourceError`] where the tensor ends before that, or the storage fails.
    fn read_bytes(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), SourceError>;
}

/// A source could not give what it was asked for.
#[derive(Clone, thiserror::Error)]
#[error("weight `{name}`: {source}")]
pub struct SourceError {
    /// Name of the tensor.
    pub name: String,
    /// What the source says.
    pub source: Arc<dyn std::error::Error + Send + Sync>,
}

crate::debug_as_display!(SourceError);
