//! Vectors to a `.npy` file: NumPy's format 1.0, f32, little-endian, row-major.

use crate::embed::{EmbedError, Embeddings};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes the vectors as an array of shape (rows, width). The file appears whole or not at all: it is written beside
/// its place, synced and renamed.
///
/// # Errors
/// What the system refuses, with the file's path; nothing is left behind then.
pub fn write_npy(path: &Path, embeddings: &Embeddings) -> Result<(), EmbedError> {
    let beside = beside(path);
    let failed = |action| move |source| EmbedError::Io { path: path.to_owned(), action, source };
    let written = write(&beside, embeddings).map_err(failed("writing"));
    let placed = written.and_then(|()| std::fs::rename(&beside, path).map_err(failed("renaming")));
    if placed.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&beside);
        return placed;
    }
    sync_folder(path).map_err(failed("syncing the folder"))
}

fn write(path: &Path, embeddings: &Embeddings) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&header(embeddings.len(), embeddings.width))?;
    for value in &embeddings.values {
        file.write_all(&value.to_le_bytes())?;
    }
    file.into_inner().map_err(|e| e.into_error())?.sync_all()
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

/// A name in the same folder that nobody else uses.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> std::io::Result<()> {
    Ok(())
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
