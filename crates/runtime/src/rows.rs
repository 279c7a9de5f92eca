//! A range of rows along one axis of a natural, dense tensor: which bytes it is, and how to move them.
//!
//! Along the outermost axis (extents before it are 1) the rows are one piece. Elsewhere they are one piece per outer
//! index; when these pieces lie close together one larger read is cheaper than many small ones.

use crate::device::{DeviceError, DeviceSession};
use crate::error::{NameKind, RuntimeError};
use crate::tables::part;
use pumice_plan::Span;
use pumice_types::DType;
use pumice_types::tensor::byte_count;
use std::ops::Range;

/// Rows of a tensor whose bytes begin with a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    span: Span,
    /// Pieces.
    outer: u64,
    /// Bytes from one piece to the next.
    pitch: u64,
    /// First byte of the first piece.
    start: u64,
    /// Bytes of each piece.
    len: u64,
}

/// A read of all bytes between the first and the last wanted one is taken up to this many bytes, …
const ONE_READ: u64 = 1 << 20;
/// … or when at least one byte in this many is wanted.
const DENSE: u64 = 4;

impl Rows {
    /// Rows `range` of axis `axis`.
    pub fn new(
        (kind, name): (NameKind, &str),
        (span, dtype): (Span, DType),
        shape: &[u64],
        axis: usize,
        range: &Range<u64>,
    ) -> Result<Rows, RuntimeError> {
        let name = || name.to_owned();
        let Some(&extent) = shape.get(axis) else {
            return Err(RuntimeError::Axis { kind, name: name(), axis, rank: shape.len() });
        };
        let (start, end) = (range.start, range.end);
        if start > end || end > extent {
            return Err(RuntimeError::Rows { kind, name: name(), axis, start, end, extent });
        }
        let empty = shape.contains(&0) || start == end;
        // The whole tensor was proved to fit its span, so these products fit 64 bits unless it is empty.
        let outer = if empty { 0 } else { shape[..axis].iter().product() };
        let row = if empty { Ok(0) } else { byte_count(dtype, &shape[axis + 1..]) };
        let row = row.map_err(|source| RuntimeError::Tensor { kind, name: name(), source })?;
        Ok(Rows { span, outer, pitch: row * extent, start: row * start, len: row * (end - start) })
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.outer * self.len
    }

    /// The pieces.
    pub fn spans(&self) -> impl Iterator<Item = Span> + use<> {
        let Rows { span, outer, pitch, start, len } = *self;
        (0..outer).map(move |i| part(span, start + i * pitch, len))
    }

    /// Reads the rows into `out`, which has [`Rows::bytes`] bytes.
    pub fn read(&self, device: &mut dyn DeviceSession, out: &mut [u8]) -> Result<(), DeviceError> {
        if self.bytes() == 0 {
            return Ok(());
        }
        let len = self.len as usize;
        let reach = (self.outer - 1) * self.pitch + self.len;
        if self.outer > 1 && (reach <= ONE_READ || reach / DENSE <= self.bytes()) {
            let mut all = vec![0; reach as usize];
            device.read(part(self.span, self.start, reach), &mut all)?;
            for (piece, out) in all.chunks(self.pitch as usize).zip(out.chunks_mut(len)) {
                out.copy_from_slice(&piece[..len]);
            }
            return Ok(());
        }
        for (i, out) in (0..self.outer).zip(out.chunks_mut(len)) {
            device.read(part(self.span, self.start + i * self.pitch, self.len), out)?;
        }
        Ok(())
    }

    /// Writes the rows from `bytes`, which are [`Rows::bytes`] bytes. Nothing between the rows is touched.
    pub fn write(&self, device: &mut dyn DeviceSession, bytes: &[u8]) -> Result<(), DeviceError> {
        if self.bytes() == 0 {
            return Ok(());
        }
        for (i, piece) in (0..self.outer).zip(bytes.chunks(self.len as usize)) {
            device.write(part(self.span, self.start + i * self.pitch, self.len), piece)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_plan::RegionKind;
    use pumice_types::Bytes;

    #[test]
    fn pieces_are_where_the_rows_are() {
        let span = Span::new(RegionKind::States, Bytes(256), Bytes(1024));
        let rows = |shape: &[u64], axis, range| {
            Rows::new((NameKind::State, "s"), (span, DType::F32), shape, axis, &range)
        };
        let r = rows(&[2, 3, 5], 1, 1..3).expect("in range");
        assert_eq!((r.outer, r.pitch, r.start, r.len, r.bytes()), (2, 60, 20, 40, 80));
        assert_eq!(rows(&[2, 3, 5], 1, 1..1).expect("in range").bytes(), 0);
        assert_eq!(rows(&[u64::MAX, 3, 0, u64::MAX], 1, 0..3).expect("empty").bytes(), 0);
        assert!(matches!(rows(&[2, 3], 1, 2..4), Err(RuntimeError::Rows { extent: 3, .. })));
        assert!(matches!(rows(&[2, 3], 2, 0..0), Err(RuntimeError::Axis { rank: 2, .. })));
        #[expect(clippy::reversed_empty_ranges, reason = "the case under test")]
        let reversed = rows(&[2, 3], 1, 2..1);
        assert!(reversed.is_err());
    }
}
