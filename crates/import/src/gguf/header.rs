//! Everything before the tensors' bytes: a stream and the file's length in, checked metadata and table out.

use super::cursor::{Cursor, Fault};
use super::metadata::GgufMetadata;
use super::tensors::{self, GgufTensor};
use crate::error::{GgufPlace, GgufProblem};
use crate::kind::FileKind;
use indexmap::IndexMap;
use pumice_types::Bytes;
use std::io::Read;
use std::path::Path;

/// The bytes with which every file begins.
pub(super) const MAGIC: [u8; 4] = *b"GGUF";
/// The least bytes of a key and its value: the key's length, the value's type, one byte.
const LEAST_VALUE: u64 = 8 + 4 + 1;
/// The least bytes of an entry of the tensor table: the name's length, rank, type, offset.
const LEAST_TENSOR: u64 = 8 + 4 + 4 + 8;

/// A checked header. It takes at most 8 bytes of memory for each byte of the file's header, strings included, while it
/// is read and after: metadata and tensor table have their places made once, by counts that the file was found to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The version of the format: 2 or 3.
    pub version: u32,
    /// Every tensor's offset is a multiple of this number of bytes.
    pub alignment: u64,
    /// What the file says of its model.
    pub metadata: GgufMetadata,
    /// Tensors in the order in which the file lists them.
    pub tensors: IndexMap<String, GgufTensor>,
    /// Where the tensors' bytes begin in the file; offsets count from here.
    pub data_begin: u64,
}

impl Header {
    /// Reads and checks the header of a file of `len` bytes; `path` names it in messages.
    pub(super) fn read(path: &Path, reader: impl Read, len: u64) -> Result<Header, Fault> {
        let mut cursor = Cursor::new(reader, len);
        let version = read_version(&mut cursor)?;
        let (tensor_count, value_count) = (cursor.u64()?, cursor.u64()?);
        cursor.place = GgufPlace::Metadata;
        cursor.claim_entries(value_count, LEAST_VALUE)?;
        let metadata = GgufMetadata::read(path, &mut cursor, value_count)?;
        let alignment = metadata.alignment()?;
        cursor.place = GgufPlace::Tensors;
        cursor.claim_entries(tensor_count, LEAST_TENSOR)?;
        let mut tensors = tensors::read(&mut cursor, tensor_count)?;
        let data_begin = Bytes(cursor.position()).align_up(alignment).0;
        // A file without data may end before the padding does.
        tensors::check_places(&mut tensors, alignment, len.saturating_sub(data_begin))?;
        Ok(Header { version, alignment, metadata, tensors, data_begin })
    }
}

fn read_version<R: Read>(cursor: &mut Cursor<R>) -> Result<u32, Fault> {
    let begin = cursor.peek()?;
    let kind = FileKind::of(begin);
    if kind != FileKind::Gguf && begin.len() >= MAGIC.len() {
        return Err(GgufProblem::OtherFile(kind).into());
    }
    cursor.take::<{ MAGIC.len() }>()?;
    match cursor.u32()? {
        version @ (2 | 3) => Ok(version),
        // Versions are small numbers: one whose low half is zero has its bytes in the other order.
        version if version != 0 && version & 0xFFFF == 0 => {
            Err(GgufProblem::BigEndian { version: version.swap_bytes() }.into())
        }
        version => Err(GgufProblem::Version(version).into()),
    }
}
