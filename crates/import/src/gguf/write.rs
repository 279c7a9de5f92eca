//! Writes GGUF files of version 3, for tests, benches and tools: descriptions in, a stream of bytes out. The tensors'
//! bytes come in pieces while they are written, so a file may be larger than memory.

use super::cursor::NAME_LIMIT;
use super::ggml_type::GgmlType;
use super::header::MAGIC;
use super::metadata::{ALIGNMENT, GgufMetadata, alignment_of};
use super::tensors::check_rank;
use super::value::{GgufValue, write_string};
use crate::error::{GgufPlace, GgufProblem, GgufWriteError, ImportError};
use crate::source::WeightInfo;
use indexmap::IndexMap;
use pumice_types::{Bytes, Encoding};
use std::io::Write;
use std::path::Path;

/// The version that is written.
const VERSION: u32 = 3;
/// About how many bytes of a tensor are asked for at a time.
const PIECE: u64 = 1 << 20;

/// Metadata and tensors of a file to be (ggml/docs/gguf.md).
///
/// ```
/// use pumice_import::{GgufWriter, SeededWeights, WeightSource};
/// use pumice_types::Scheme;
///
/// let mut weights = SeededWeights::new(1);
/// weights.add("blk.0.ffn_up.weight", Scheme::Q4_0, &[64, 256])?;
/// let mut writer = GgufWriter::new();
/// writer.metadata("general.architecture", "llama")?;
/// for name in weights.names() {
///     let info = weights.describe(name)?;
///     writer.tensor(name, info.encoding, &info.shape)?;
/// }
/// let mut file = Vec::new();
/// writer.write(&mut file, |name, offset, piece| weights.read_at(name, offset, piece))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GgufWriter {
    metadata: GgufMetadata,
    tensors: IndexMap<String, (GgmlType, WeightInfo)>,
}

impl Default for GgufWriter {
    fn default() -> GgufWriter {
        GgufWriter::new()
    }
}

impl GgufWriter {
    /// Nothing yet.
    pub fn new() -> GgufWriter {
        GgufWriter { metadata: GgufMetadata::new(Path::new("")), tensors: IndexMap::new() }
    }

    /// The metadata that was added.
    pub fn described(&self) -> &GgufMetadata {
        &self.metadata
    }

    /// Extents of a tensor that was added, outermost first.
    pub fn shape(&self, tensor: &str) -> Option<&[u64]> {
        self.tensors.get(tensor).map(|(_, info)| info.shape.as_slice())
    }

    /// Adds a value under a new key. `general.alignment`, a u32, is what the tensors' offsets are multiples of; without
    /// it they are multiples of 32.
    ///
    /// # Errors
    /// [`GgufWriteError::Problem`] for a key that is there, a key too long, an alignment that is no power of two.
    pub fn metadata(&mut self, key: &str, value: impl Into<GgufValue>) -> Result<(), GgufWriteError> {
        check_name(key, GgufPlace::Key(self.metadata.len() as u64))?;
        let value = value.into();
        if key == ALIGNMENT {
            alignment_of(&value)?;
        }
        Ok(self.metadata.insert(key.to_owned(), value)?)
    }

    /// Adds a tensor under a new name; extents are outermost first.
    ///
    /// # Errors
    /// [`GgufWriteError::NoType`] for an encoding that GGUF does not have, [`GgufWriteError::Problem`] for a name that
    /// is there or too long, and for extents without a size.
    pub fn tensor(
        &mut self,
        name: &str,
        encoding: impl Into<Encoding>,
        shape: &[u64],
    ) -> Result<(), GgufWriteError> {
        let (encoding, tensor) = (encoding.into(), || name.to_owned());
        check_name(name, GgufPlace::Tensor(self.tensors.len() as u64))?;
        if self.tensors.contains_key(name) {
            return Err(GgufProblem::DuplicateTensor(tensor()).into());
        }
        let ty =
            GgmlType::of(encoding).ok_or_else(|| GgufWriteError::NoType { tensor: tensor(), encoding })?;
        check_rank(name, u32::try_from(shape.len()).unwrap_or(u32::MAX))?;
        let bytes =
            encoding.bytes(shape).map_err(|source| GgufProblem::Extents { tensor: tensor(), source })?;
        self.tensors.insert(tensor(), (ty, WeightInfo { encoding, shape: shape.to_vec(), bytes }));
        Ok(())
    }

    /// Writes the file. `fill(name, offset, piece)` makes the tensor's bytes from byte `offset` on, as many as `piece`
    /// holds; it is called for the tensors in their order, from each tensor's first byte to its last, with whole
    /// blocks.
    ///
    /// # Errors
    /// What `out` or `fill` reports, and tensors whose offsets pass 64 bits; an unfinished file is left.
    pub fn write(
        &self,
        out: &mut impl Write,
        mut fill: impl FnMut(&str, u64, &mut [u8]) -> Result<(), ImportError>,
    ) -> Result<(), GgufWriteError> {
        let alignment = self.metadata.alignment()?;
        let header = self.header(alignment)?;
        out.write_all(&header)?;
        pad(out, header.len() as u64, alignment)?;
        let mut piece = Vec::new();
        for (name, (_, info)) in &self.tensors {
            let block = info.encoding.block().1;
            let most = (PIECE / block).max(1) * block;
            let mut offset = 0;
            while offset < info.bytes.0 {
                piece.resize(most.min(info.bytes.0 - offset) as usize, 0);
                fill(name, offset, &mut piece)?;
                out.write_all(&piece)?;
                offset += piece.len() as u64;
            }
            pad(out, info.bytes.0, alignment)?;
        }
        out.flush()?;
        Ok(())
    }

    /// Everything before the padding and the tensors' bytes.
    fn header(&self, alignment: u64) -> Result<Vec<u8>, GgufProblem> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(self.tensors.len() as u64).to_le_bytes());
        out.extend_from_slice(&(self.metadata.len() as u64).to_le_bytes());
        for (key, value) in self.metadata.iter() {
            write_string(&mut out, key);
            value.write(&mut out);
        }
        let mut offset = 0u64;
        for (name, (ty, info)) in &self.tensors {
            write_string(&mut out, name);
            out.extend_from_slice(&(info.shape.len() as u32).to_le_bytes());
            info.shape.iter().rev().for_each(|extent| out.extend_from_slice(&extent.to_le_bytes()));
            out.extend_from_slice(&ty.0.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
            let bytes = info.bytes.0;
            let too_far =
                || GgufProblem::Outside { tensor: name.clone(), offset, bytes, available: u64::MAX };
            let end = offset.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(alignment));
            offset = end.ok_or_else(too_far)?;
        }
        Ok(out)
    }
}

/// Whether a key or name is short enough.
fn check_name(name: &str, place: GgufPlace) -> Result<(), GgufProblem> {
    let bytes = name.len() as u64;
    if bytes > NAME_LIMIT {
        return Err(GgufProblem::NameTooLong { place, bytes, limit: NAME_LIMIT });
    }
    Ok(())
}

/// Zeros from `position` to the next multiple of the alignment.
fn pad(out: &mut impl Write, position: u64, alignment: u64) -> Result<(), std::io::Error> {
    let missing = Bytes(position).align_up(alignment).0 - position;
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), missing), out).map(|_| ())
}
