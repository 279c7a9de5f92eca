//! Weights by name, wherever they come from.

use crate::error::ImportError;
use pumice_types::{Bytes, Encoding, Tensor};

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

    /// Reads a tensor's bytes into a buffer of exactly [`WeightInfo::bytes`].
    fn read(&self, name: &str, out: &mut [u8]) -> Result<(), ImportError>;

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
pub(crate) fn check_buffer(
    origin: &dyn WeightSource,
    name: &str,
    expected: u64,
    out: &[u8],
) -> Result<(), ImportError> {
    let given = out.len() as u64;
    if expected == given {
        return Ok(());
    }
    Err(ImportError::BufferLength { origin: origin.origin(), tensor: name.to_owned(), expected, given })
}
