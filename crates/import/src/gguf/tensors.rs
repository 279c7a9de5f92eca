//! The table of tensors: entries and the number of data bytes in, places in the data out.
//!
//! In a table that is accepted every tensor begins at a multiple of the alignment, lies in the data, and shares no byte
//! with another. Of a type that pumice does not read only the beginning is known: it counts as one byte.

use super::cursor::{Cursor, Fault};
use super::ggml_type::GgmlType;
use crate::error::{GgufPlace, GgufProblem};
use indexmap::IndexMap;
use pumice_types::{Bytes, tensor};
use std::io::Read;

/// The most axes of a tensor. GGUF itself says at most 4 and that this may change.
pub const RANK_LIMIT: u32 = 8;

/// What a file says of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GgufTensor {
    /// Its type, which pumice may not read.
    pub ty: GgmlType,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// First byte, counted from the start of the data.
    pub offset: u64,
    /// Its bytes; `None` of a type that pumice does not read.
    pub bytes: Option<Bytes>,
    /// Bytes from its first to the next tensor's first, or to the end of the data: its own with the padding after them.
    pub span: Bytes,
}

impl GgufTensor {
    /// The bytes that the tensor is known to have at least.
    fn least_bytes(&self) -> u64 {
        self.bytes.map_or_else(|| u64::from(!self.shape.contains(&0)), |b| b.0)
    }
}

/// Reads `count` entries of the table and checks each by itself.
pub(super) fn read<R: Read>(
    cursor: &mut Cursor<R>,
    count: u64,
) -> Result<IndexMap<String, GgufTensor>, Fault> {
    // The caller has compared the count with what the file holds.
    let mut tensors = IndexMap::with_capacity(count as usize);
    for index in 0..count {
        cursor.place = GgufPlace::Tensor(index);
        let name = cursor.name()?;
        let tensor = read_entry(cursor, &name)?;
        if tensors.contains_key(&name) {
            return Err(GgufProblem::DuplicateTensor(name).into());
        }
        tensors.insert(name, tensor);
    }
    Ok(tensors)
}

fn read_entry<R: Read>(cursor: &mut Cursor<R>, name: &str) -> Result<GgufTensor, Fault> {
    let rank = cursor.u32()?;
    check_rank(name, rank)?;
    let mut shape = Vec::with_capacity(cursor.claim(u64::from(rank), 8)?);
    for _ in 0..rank {
        shape.push(cursor.u64()?);
    }
    // The file has the innermost extent first.
    shape.reverse();
    let ty = GgmlType(cursor.u32()?);
    let offset = cursor.u64()?;
    let bytes = size(name, ty, &shape)?;
    Ok(GgufTensor { ty, shape, offset, bytes, span: Bytes(0) })
}

/// Whether a tensor may have so many axes.
pub(super) fn check_rank(name: &str, rank: u32) -> Result<(), GgufProblem> {
    if rank > RANK_LIMIT {
        return Err(GgufProblem::Rank { tensor: name.to_owned(), rank, limit: RANK_LIMIT });
    }
    Ok(())
}

/// Bytes by type and shape; extents that 64 bits cannot count are refused of every type.
fn size(name: &str, ty: GgmlType, shape: &[u64]) -> Result<Option<Bytes>, GgufProblem> {
    let wrong = |source| GgufProblem::Extents { tensor: name.to_owned(), source };
    match ty.encoding() {
        Some(encoding) => encoding.bytes(shape).map(Some).map_err(wrong),
        None => tensor::element_count(shape).map(|_| None).map_err(wrong),
    }
}

/// Whether the tensors lie in `available` bytes of data, aligned and apart from each other; gives each its span.
pub(super) fn check_places(
    tensors: &mut IndexMap<String, GgufTensor>,
    alignment: u64,
    available: u64,
) -> Result<(), GgufProblem> {
    let mut order: Vec<(&String, &mut GgufTensor)> = tensors.iter_mut().collect();
    order.sort_by_key(|(_, t)| (t.offset, t.least_bytes()));
    check_order(&order, alignment, available)?;
    let mut next = available;
    for (_, tensor) in order.iter_mut().rev() {
        tensor.span = Bytes(next - tensor.offset);
        next = tensor.offset;
    }
    Ok(())
}

/// The law of [`check_places`] for tensors in the order of their offsets.
fn check_order(
    order: &[(&String, &mut GgufTensor)],
    alignment: u64,
    available: u64,
) -> Result<(), GgufProblem> {
    let mut end = 0;
    let mut previous = "";
    for (name, tensor) in order {
        let (offset, bytes) = (tensor.offset, tensor.least_bytes());
        let owned = || (*name).clone();
        if !offset.is_multiple_of(alignment) {
            return Err(GgufProblem::Misaligned { tensor: owned(), offset, alignment });
        }
        if offset < end {
            return Err(GgufProblem::Overlap { tensor: owned(), other: previous.to_owned(), offset });
        }
        end = match offset.checked_add(bytes) {
            Some(end) if end <= available => end,
            _ => return Err(GgufProblem::Outside { tensor: owned(), offset, bytes, available }),
        };
        previous = name;
    }
    Ok(())
}
