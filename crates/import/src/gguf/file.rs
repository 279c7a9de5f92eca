//! A sound file: its tensors described from the table, read by seeking when asked for.

use super::cursor::Fault;
use super::header::Header;
use super::metadata::GgufMetadata;
use super::tensors::GgufTensor;
use crate::error::ImportError;
use crate::source::{WeightInfo, WeightSource, check_piece, unknown};
use pumice_types::{Bytes, Encoding};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A GGUF file on disk.
pub type GgufFile = Reader<File>;

/// A GGUF file in anything that can be read and sought in. One lock guards the position; a tensor is one read.
#[derive(Debug)]
pub struct Reader<R> {
    path: PathBuf,
    header: Header,
    reader: Mutex<R>,
}

impl Reader<File> {
    /// Opens a file and checks header, metadata and tensor table against its length. Of the data nothing is
    /// looked at.
    ///
    /// # Errors
    /// A file that cannot be read, or [`ImportError::Gguf`] where it breaks the format.
    pub fn open(path: impl AsRef<Path>) -> Result<GgufFile, ImportError> {
        let path = path.as_ref();
        let (file, len) = crate::folder::open_regular(path, "the model is needed here")?;
        Reader::new(path.to_owned(), file, len)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Checks the `len` bytes that begin at the reader's start; `path` names them in messages.
    ///
    /// # Errors
    /// As [`GgufFile::open`].
    pub fn new(path: PathBuf, mut reader: R, len: u64) -> Result<Reader<R>, ImportError> {
        let header = Header::read(&path, &mut reader, len).map_err(|fault| match fault {
            Fault::Io(source) => ImportError::Io { path: path.clone(), action: "reading the header", source },
            Fault::Problem(problem) => ImportError::Gguf { path: path.clone(), problem },
        })?;
        Ok(Reader { path, header, reader: Mutex::new(reader) })
    }
}

impl<R> Reader<R> {
    /// The checked header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the file says of its model.
    pub fn metadata(&self) -> &GgufMetadata {
        &self.header.metadata
    }

    /// The file, as it was named.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Every tensor with its name, in the order of the file; also those of types that are not read.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = (&str, &GgufTensor)> {
        self.header.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// A tensor with its encoding and bytes, where it is there and of a type that is read.
    fn readable(&self, name: &str) -> Result<(&GgufTensor, Encoding, Bytes), ImportError> {
        let origin = || self.path.display().to_string();
        let names = || self.header.tensors.keys().map(String::as_str).collect::<Vec<_>>();
        let tensor = self.header.tensors.get(name).ok_or_else(|| unknown(origin(), name, &names()))?;
        let foreign = || ImportError::UnsupportedDType {
            origin: origin(),
            tensor: name.to_owned(),
            dtype: tensor.ty.to_string(),
            remedy: super::ggml_type::instead_of(tensor.ty),
        };
        match (tensor.ty.encoding(), tensor.bytes) {
            (Some(encoding), Some(bytes)) => Ok((tensor, encoding, bytes)),
            _ => Err(foreign()),
        }
    }
}

impl<R: Read + Seek + Send> WeightSource for Reader<R> {
    fn origin(&self) -> String {
        self.path.display().to_string()
    }

    fn names(&self) -> Vec<&str> {
        self.header.tensors.keys().map(String::as_str).collect()
    }

    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError> {
        let (tensor, encoding, bytes) = self.readable(name)?;
        Ok(WeightInfo { encoding, shape: tensor.shape.clone(), bytes })
    }

    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError> {
        let (tensor, _, bytes) = self.readable(name)?;
        check_piece(self, name, bytes.0, offset, out)?;
        if out.is_empty() {
            return Ok(());
        }
        // A panic elsewhere leaves the position unknown, which the seek repairs.
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader
            .seek(SeekFrom::Start(self.header.data_begin + tensor.offset + offset))
            .and_then(|_| reader.read_exact(out))
            .map_err(|source| ImportError::Io { path: self.path.clone(), action: "reading a tensor", source })
    }

    fn contains(&self, name: &str) -> bool {
        self.header.tensors.contains_key(name)
    }
}
