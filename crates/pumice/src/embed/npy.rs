//! Vectors to a `.npy` file: NumPy's format 1.0, f32, little-endian, row-major.

use crate::embed::{EmbedError, Embeddings};
use crate::save::Destination;
use std::io::Write;
use std::path::Path;

/// Writes the vectors as an array of shape (rows, width), whole or not at all, as [`crate::save`] does it.
///
/// # Errors
/// What the system refuses, with the file's path; nothing is left behind then.
pub fn write_npy(path: &Path, embeddings: &Embeddings) -> Result<(), EmbedError> {
    let failed = |source| EmbedError::Io { path: path.to_owned(), action: "writing", source };
    Destination::look(path)
        .and_then(|destination| destination.save(|out| write(out, embeddings)))
        .map_err(failed)
}

/// Writes the vectors to an open output.
pub(crate) fn write(out: &mut dyn Write, embeddings: &Embeddings) -> std::io::Result<()> {
    out.write_all(&header(embeddings.len(), embeddings.width))?;
    embeddings.values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

/// Magic, version, length of the rest, a Python dictionary padded with spaces to a multiple of 64 bytes.
fn header(rows: usize, width: usize) -> Vec<u8> {
    let dict = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}");
    const BEFORE: usize = 10;
    let total = (BEFORE + dict.len() + 1).next_multiple_of(64);
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // Two numbers of at most 20 digits keep it far below 65,536.
    header.extend_from_slice(&((total - BEFORE) as u16).to_le_bytes());
    header.extend_from_slice(dict.as_bytes());
    header.resize(total - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_numpys() {
        let header = header(50, 384);
        assert_eq!(header.len() % 64, 0);
        assert_eq!(&header[..10], b"\x93NUMPY\x01\x00\x76\x00");
        let text = std::str::from_utf8(&header[10..]).expect("ASCII");
        assert!(text.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (50, 384), }"));
        assert!(text.ends_with(" \n"));
    }
}
