//! A sound file: its tensors described from the header, read by seeking when asked for.

use super::header::{Entry, HEADER_LIMIT, Header};
use crate::error::{FormatProblem, ImportError};
use crate::kind::{FileKind, LOOKED_AT};
use crate::source::{WeightInfo, WeightSource, check_piece, unknown};
use pumice_types::Bytes;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A safetensors file on disk.
pub type SafetensorsFile = Reader<File>;

/// A safetensors file in anything that can be read and sought in. One lock guards the position; a tensor is one read.
#[derive(Debug)]
pub struct Reader<R> {
    path: PathBuf,
    header: Header,
    data_begin: u64,
    reader: Mutex<R>,
}

impl Reader<File> {
    /// Opens a file and checks its header against its length. Nothing of the data is read.
    pub fn open(path: &Path) -> Result<SafetensorsFile, ImportError> {
        let (file, len) = crate::folder::open_regular(path, "the weights are needed here")?;
        Reader::new(path.to_owned(), file, len)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Checks the header of `len` bytes that begin at the reader's start; `path` names them in messages.
    pub fn new(path: PathBuf, mut reader: R, len: u64) -> Result<Reader<R>, ImportError> {
        let begin = first_bytes(&path, &mut reader, len)?;
        let bytes = read_header(&path, &begin, &mut reader, len)?;
        let data_begin = 8 + bytes.len() as u64;
        let header = Header::parse(&bytes, len - data_begin)
            .map_err(|problem| ImportError::Safetensors { path: path.clone(), problem })?;
        Ok(Reader { path, header, data_begin, reader: Mutex::new(reader) })
    }

    /// The checked header.
    pub fn header(&self) -> &Header {
        &self.header
    }
}

impl<R> Reader<R> {
    fn entry(&self, name: &str) -> Result<&Entry, ImportError> {
        let names = || self.header.entries.keys().map(String::as_str).collect::<Vec<_>>();
        self.header.entries.get(name).ok_or_else(|| unknown(self.path.display().to_string(), name, &names()))
    }
}

fn failed(path: &Path, source: std::io::Error) -> ImportError {
    ImportError::Io { path: path.to_owned(), action: "reading the header", source }
}

/// The first bytes of the file, by which other kinds of files are recognized.
fn first_bytes(path: &Path, reader: &mut impl Read, len: u64) -> Result<Vec<u8>, ImportError> {
    let mut begin = vec![0; len.min(LOOKED_AT as u64) as usize];
    reader.read_exact(&mut begin).map_err(|e| failed(path, e))?;
    match FileKind::of(&begin) {
        FileKind::Safetensors | FileKind::Unknown => Ok(begin),
        _ if begin.len() < 8 => Ok(begin),
        kind => {
            let problem = FormatProblem::OtherFile(kind);
            Err(ImportError::Safetensors { path: path.to_owned(), problem })
        }
    }
}

/// The header's bytes, of which `begin` and the reader's are the first and the rest: allocated only when the file is
/// known to hold them.
fn read_header(path: &Path, begin: &[u8], reader: &mut impl Read, len: u64) -> Result<Vec<u8>, ImportError> {
    let wrong = |problem| ImportError::Safetensors { path: path.to_owned(), problem };
    let Some((length, rest)) = begin.split_first_chunk::<8>() else {
        return Err(wrong(FormatProblem::TooShort(len)));
    };
    let declared = u64::from_le_bytes(*length);
    if declared > HEADER_LIMIT {
        return Err(wrong(FormatProblem::HeaderTooLarge { declared, limit: HEADER_LIMIT }));
    }
    if declared > len - 8 {
        return Err(wrong(FormatProblem::HeaderTruncated { declared, available: len - 8 }));
    }
    let mut header = vec![0; declared as usize];
    let at_hand = rest.len().min(header.len());
    header[..at_hand].copy_from_slice(&rest[..at_hand]);
    reader.read_exact(&mut header[at_hand..]).map_err(|e| failed(path, e))?;
    Ok(header)
}

impl<R: Read + Seek + Send> WeightSource for Reader<R> {
    fn origin(&self) -> String {
        self.path.display().to_string()
    }

    fn names(&self) -> Vec<&str> {
        self.header.entries.keys().map(String::as_str).collect()
    }

    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError> {
        let entry = self.entry(name)?;
        let encoding = entry.dtype.encoding.ok_or_else(|| ImportError::UnsupportedDType {
            origin: self.origin(),
            tensor: name.to_owned(),
            dtype: entry.dtype.name.to_owned(),
            remedy: "convert it to F32, F16 or BF16".to_owned(),
        })?;
        Ok(WeightInfo { encoding, shape: entry.shape.clone(), bytes: Bytes(entry.end - entry.begin) })
    }

    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError> {
        let entry = self.entry(name)?;
        check_piece(self, name, entry.end - entry.begin, offset, out)?;
        // A panic elsewhere leaves the position unknown, which the seek repairs.
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader
            .seek(SeekFrom::Start(self.data_begin + entry.begin + offset))
            .and_then(|_| reader.read_exact(out))
            .map_err(|source| ImportError::Io { path: self.path.clone(), action: "reading a tensor", source })
    }

    fn contains(&self, name: &str) -> bool {
        self.header.entries.contains_key(name)
    }
}
