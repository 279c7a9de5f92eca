//! Weights by name, wherever they come from.

use crate::error::ImportError;
use pumice_types::{ByteSource, Bytes, Encoding, SourceError, Stored, Tensor};
use std::sync::Arc;

/// What a source knows about a tensor without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightInfo {
    /// How the elements lie in the bytes.
    pub encoding: Encoding,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// Bytes as stored: row-major, little-endian.
    pub bytes: Bytes,
}

/// Tensors that are read one at a time, when asked for.
///
/// A source has done all checking that needs no tensor data when it exists; reading can fail only because the storage
/// does, or because the caller asks for something that is not there.
pub trait WeightSource: Send + Sync {
    /// What to call the source in messages: a path, or what it is.
    fn origin(&self) -> String;

    /// All names, in the source's order.
    fn names(&self) -> Vec<&str>;

    /// Encoding, shape and size of a tensor.
    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError>;

    /// Reads bytes of a tensor from byte `offset` on, as many as `out` holds.
    ///
    /// # Errors
    /// A name that is not there; [`ImportError::BufferLength`] where the tensor ends before `out` does.
    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError>;

    /// Reads a tensor's bytes into a buffer of exactly [`WeightInfo::bytes`].
    ///
    /// # Errors
    /// As [`WeightSource::read_at`], and [`ImportError::BufferLength`] for a buffer of another length.
    fn read(&self, name: &str, out: &mut [u8]) -> Result<(), ImportError> {
        let expected = self.describe(name)?.bytes.0;
        check_length(|| self.origin(), name, expected, out)?;
        self.read_at(name, 0, out)
    }

    /// Whether there is a tensor of that name.
    fn contains(&self, name: &str) -> bool {
        self.names().contains(&name)
    }

    /// Reads a tensor into memory of its own.
    fn load(&self, name: &str) -> Result<Tensor, ImportError> {
        let info = self.describe(name)?;
        let no_memory = || ImportError::OutOfMemory {
            origin: self.origin(),
            tensor: name.to_owned(),
            bytes: info.bytes.0,
        };
        let len = info.bytes.to_usize().ok_or_else(no_memory)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| no_memory())?;
        bytes.resize(len, 0);
        self.read(name, &mut bytes)?;
        Ok(Tensor::from_bytes(info.encoding, &info.shape, bytes)
            .expect("describe() computes the bytes from encoding and shape"))
    }
}

/// The error for a name that a source does not have, with the name that it most resembles.
pub(crate) fn unknown(origin: String, tensor: &str, names: &[&str]) -> ImportError {
    let nearest = names.iter().max_by_key(|n| common_tail(n, tensor)).filter(|n| common_tail(n, tensor) >= 4);
    ImportError::UnknownTensor {
        origin,
        tensor: tensor.to_owned(),
        nearest: nearest.map(|n| (*n).to_owned()),
    }
}

/// Bytes that two names share at their ends: prefixes are what models differ in.
fn common_tail(a: &str, b: &str) -> usize {
    a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count()
}

/// The error for a buffer of another length than the tensor's.
fn check_length(
    origin: impl Fn() -> String,
    name: &str,
    expected: u64,
    out: &[u8],
) -> Result<(), ImportError> {
    let given = out.len() as u64;
    if expected == given {
        return Ok(());
    }
    Err(ImportError::BufferLength { origin: origin(), tensor: name.to_owned(), expected, given })
}

/// The error for a piece that passes the end of a tensor of so many bytes.
pub(crate) fn check_piece(
    source: &dyn WeightSource,
    name: &str,
    bytes: u64,
    offset: u64,
    out: &[u8],
) -> Result<(), ImportError> {
    let left = bytes.saturating_sub(offset);
    if out.len() as u64 <= left {
        return Ok(());
    }
    check_length(|| source.origin(), name, left, out)
}

/// A source of weights as what fills params.
pub struct WeightBytes<'w>(pub &'w dyn WeightSource);

impl ByteSource for WeightBytes<'_> {
    fn stored(&self, name: &str) -> Result<Stored, SourceError> {
        let info = self.0.describe(name).map_err(|e| source_error(name, e))?;
        Ok(Stored { encoding: info.encoding, shape: info.shape })
    }

    fn read_bytes(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), SourceError> {
        self.0.read_at(name, offset, to).map_err(|e| source_error(name, e))
    }
}

fn source_error(name: &str, error: ImportError) -> SourceError {
    SourceError { name: name.to_owned(), source: Arc::new(error) }
}
