//! A model's folder: fixed names opened in it, names that files give checked before they are opened.
//!
//! Two kinds of names are kept apart. Names that this project fixes (`config.json`, `model.safetensors`) are opened as
//! they are, links followed, because the user chose the folder. Names that a file in the folder gives are the file's
//! author's: they stay inside the folder, with no absolute path, no `..`, and no link that leads out. A snapshot in the
//! cache of the Hugging Face hub (`models--ORG--REPO/snapshots/COMMIT`) is made of links: those into the `blobs` of the
//! same repository, or into those that all repositories of the cache share, count as inside.

use crate::error::ImportError;
use crate::safetensors::SafetensorsFile;
use crate::sharded::ShardedWeights;
use crate::source::WeightSource;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// The weights, in one file.
pub const WEIGHTS: &str = "model.safetensors";
/// The index, where the weights are in several files.
pub const WEIGHTS_INDEX: &str = "model.safetensors.index.json";

/// An existing folder.
#[derive(Clone, Debug)]
pub struct ModelFolder {
    /// As the user wrote it, for messages.
    path: PathBuf,
    /// Without links, to compare with.
    root: PathBuf,
    /// Folders where links may lead besides, without links: of a snapshot the files that it stands for.
    blobs: Vec<PathBuf>,
}

impl ModelFolder {
    /// Opens a folder; an error if there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<ModelFolder, ImportError> {
        let path = path.as_ref();
        let root = path.canonicalize().map_err(|source| match source.kind() {
            ErrorKind::NotFound => ImportError::Missing {
                path: path.to_owned(),
                remedy: "give the folder that holds the model's config.json".to_owned(),
            },
            _ => ImportError::Io { path: path.to_owned(), action: "opening the folder", source },
        })?;
        if !root.is_dir() {
            return Err(ImportError::WrongKind { path: path.to_owned(), expected: "a folder" });
        }
        let blobs = blobs_of(&root);
        Ok(ModelFolder { path: path.to_owned(), root, blobs })
    }

    /// The folder as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file of that fixed name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether there is a file of that fixed name.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).is_file()
    }

    /// A folder inside this one, by the name that `named_by` gives it; the empty name is this folder.
    pub fn subfolder(&self, name: &str, named_by: &Path) -> Result<ModelFolder, ImportError> {
        if name.is_empty() || name == "." {
            return Ok(self.clone());
        }
        let root = self.inside(name, named_by)?;
        if !root.is_dir() {
            return Err(ImportError::WrongKind { path: self.path.join(name), expected: "a folder" });
        }
        Ok(ModelFolder { path: self.path.join(name), root, blobs: self.blobs.clone() })
    }

    /// The path of a file inside this folder, by the name that `named_by` gives it.
    pub fn named_file(&self, name: &str, named_by: &Path) -> Result<PathBuf, ImportError> {
        self.inside(name, named_by)
    }

    /// The real path behind a name that a file gives, if that is inside the folder.
    fn inside(&self, name: &str, named_by: &Path) -> Result<PathBuf, ImportError> {
        let refuse = |reason| ImportError::Path { file: named_by.to_owned(), named: name.to_owned(), reason };
        // The same names are refused on every platform, whatever separators and drives mean on this one.
        if name.is_empty() || name.contains(['\\', ':', '\0']) {
            return Err(refuse("is not a plain relative path"));
        }
        for component in Path::new(name).components() {
            match component {
                Component::Normal(_) => {}
                Component::ParentDir => return Err(refuse("contains `..`")),
                _ => return Err(refuse("is not a plain relative path")),
            }
        }
        let path = self.root.join(name);
        let real = path.canonicalize().map_err(|source| match source.kind() {
            ErrorKind::NotFound => ImportError::Missing {
                path: self.path.join(name),
                remedy: format!("{} names it: get the model again, with all its files", named_by.display()),
            },
            _ => ImportError::Io { path, action: "opening", source },
        })?;
        let is_blob = self.blobs.iter().any(|blobs| real.starts_with(blobs));
        if !real.starts_with(&self.root) && !is_blob {
            return Err(refuse("is a link that leads out of the model's folder"));
        }
        Ok(real)
    }

    /// The text of a file of that fixed name, at most `limit` bytes; `None` where there is no such file.
    pub fn read_text(&self, name: &str, limit: u64) -> Result<Option<String>, ImportError> {
        self.read_bytes(name, limit)?.map(|bytes| text_of(&self.file(name), bytes)).transpose()
    }

    /// The bytes of a file of that fixed name, at most `limit`; `None` where there is no such file.
    ///
    /// # Errors
    /// A file that is longer or cannot be read.
    pub fn read_bytes(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, ImportError> {
        let path = self.file(name);
        match open_regular(&path, "") {
            Err(ImportError::Missing { .. }) => Ok(None),
            Err(other) => Err(other),
            Ok((file, bytes)) => bytes_limited(&path, file, bytes, limit).map(Some),
        }
    }

    /// The files of the model's weights: `model.safetensors`, or the shards that `model.safetensors.index.json` lists,
    /// in the order in which it names them first. Each holds what the index says, and may hold more.
    ///
    /// # Errors
    /// As [`ModelFolder::weights`].
    pub fn shards(&self) -> Result<Vec<SafetensorsFile>, ImportError> {
        if self.file(WEIGHTS).exists() {
            return Ok(vec![SafetensorsFile::open(&self.file(WEIGHTS))?]);
        }
        if self.has(WEIGHTS_INDEX) {
            return Ok(ShardedWeights::open(self)?.into_shards());
        }
        Err(self.no_weights())
    }

    /// The model's weights: `model.safetensors`, or the shards that `model.safetensors.index.json` lists.
    pub fn weights(&self) -> Result<Box<dyn WeightSource>, ImportError> {
        if self.file(WEIGHTS).exists() {
            return Ok(Box::new(SafetensorsFile::open(&self.file(WEIGHTS))?));
        }
        if self.has(WEIGHTS_INDEX) {
            return Ok(Box::new(ShardedWeights::open(self)?));
        }
        Err(self.no_weights())
    }

    fn no_weights(&self) -> ImportError {
        let other = ["pytorch_model.bin", "tf_model.h5", "model.onnx", "flax_model.msgpack"];
        let remedy = match other.into_iter().find(|name| self.has(name)) {
            Some(name) => format!("there is {name}, which is not read: save the model as safetensors"),
            None if self.has_shard() => {
                format!("there are shards and no {WEIGHTS_INDEX} that says what they hold: get it too")
            }
            None => "get the model's weights as safetensors".to_owned(),
        };
        ImportError::Missing { path: self.file(WEIGHTS), remedy }
    }

    /// Whether there is a file that is named as shards are: `model-00001-of-00002.safetensors`.
    fn has_shard(&self) -> bool {
        let is_shard = |name: &str| name.starts_with("model-0") && name.ends_with(".safetensors");
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().to_str().is_some_and(is_shard))
    }
}

/// Where the files of a snapshot lie, if `root` is one in the cache of the hub: `../../blobs`, and `../../../blobs`,
/// into which huggingface_hub links what several repositories have in common.
fn blobs_of(root: &Path) -> Vec<PathBuf> {
    let is_named =
        |path: &Path, is: fn(&str) -> bool| path.file_name().and_then(|n| n.to_str()).is_some_and(is);
    let repository = root.parent().filter(|path| is_named(path, |name| name == "snapshots"));
    let repository = repository.and_then(Path::parent);
    let Some(repository) = repository.filter(|path| is_named(path, |name| name.starts_with("models--")))
    else {
        return Vec::new();
    };
    let places = [Some(repository), repository.parent()].into_iter().flatten().map(|path| path.join("blobs"));
    // A `blobs` that is a link itself leads out.
    places.filter(|path| std::fs::symlink_metadata(path).is_ok_and(|known| known.is_dir())).collect()
}

/// Opens a regular file and its length; pipes and devices are refused before they are opened.
pub(crate) fn open_regular(path: &Path, remedy: &str) -> Result<(File, u64), ImportError> {
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound => ImportError::Missing { path: path.to_owned(), remedy: remedy.to_owned() },
        _ => ImportError::Io { path: path.to_owned(), action: "opening", source },
    };
    let wrong_kind = || ImportError::WrongKind { path: path.to_owned(), expected: "a file" };
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(wrong_kind());
    }
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_file() { Ok((file, metadata.len())) } else { Err(wrong_kind()) }
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, ImportError> {
    String::from_utf8(bytes)
        .map_err(|e| reading(path, std::io::Error::new(std::io::ErrorKind::InvalidData, e.utf8_error())))
}

/// Reads a whole file whose length is known, if that is within the limit. A file that grows meanwhile is cut off.
fn bytes_limited(path: &Path, file: File, bytes: u64, limit: u64) -> Result<Vec<u8>, ImportError> {
    if bytes > limit {
        return Err(ImportError::TooLarge { path: path.to_owned(), bytes, limit });
    }
    let mut all = Vec::new();
    file.take(limit).read_to_end(&mut all).map_err(|source| reading(path, source))?;
    Ok(all)
}

fn reading(path: &Path, source: std::io::Error) -> ImportError {
    ImportError::Io { path: path.to_owned(), action: "reading", source }
}
