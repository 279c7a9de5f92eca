//! A model in one GGUF file, or in several that belong together.
//!
//! `llama-gguf-split` writes NAME-00001-of-00003.gguf and so on: the first has the metadata, each has `split.no` from 0
//! and `split.count`, and a tensor is whole in one of them.

use super::file::GgufFile;
use super::metadata::GgufMetadata;
use super::tensors::GgufTensor;
use crate::error::{GgufProblem, ImportError};
use crate::source::{WeightInfo, WeightSource, unknown};
use indexmap::IndexMap;
use std::path::{Path, PathBuf};

/// Every shard stays open, so their number is bounded.
const SHARD_LIMIT: u64 = 512;

/// The GGUF files of a model, all opened and checked.
#[derive(Debug)]
pub struct GgufModel {
    path: PathBuf,
    /// The first has the metadata.
    shards: Vec<GgufFile>,
    /// Tensor to position in `shards`.
    tensors: IndexMap<String, usize>,
}

impl GgufModel {
    /// Opens a file; where it is the first of several, the others beside it as well.
    ///
    /// # Errors
    /// A file that cannot be read or breaks the format; a shard that is not the first, or that is missing
    /// ([`ImportError::Missing`]); shards that do not belong together ([`GgufProblem::Shard`]).
    pub fn open(path: impl AsRef<Path>) -> Result<GgufModel, ImportError> {
        let path = path.as_ref();
        let first = GgufFile::open(path)?;
        let count = first.metadata().u64_if_any("split.count")?.unwrap_or(1);
        // Looked at in one of several only, and a number everywhere.
        first.metadata().u64_if_any("split.no")?;
        let mut shards = vec![first];
        if count > 1 {
            let names = Names::of(path, &shards[0], count)?;
            for number in 1..count {
                shards.push(names.open(number)?);
            }
        }
        let mut tensors = IndexMap::new();
        for (i, shard) in shards.iter().enumerate() {
            for (name, _) in shard.tensors() {
                if tensors.insert(name.to_owned(), i).is_some() {
                    return Err(wrong(path, format!("tensor {name} is in two shards")));
                }
            }
        }
        match shards[0].metadata().u64_if_any("split.tensors.count")? {
            Some(told) if count > 1 && told != tensors.len() as u64 => Err(wrong(
                path,
                format!("the shards have {} tensors, and {told} belong to the model", tensors.len()),
            )),
            _ => Ok(GgufModel { path: path.to_owned(), shards, tensors }),
        }
    }

    /// The files that the model is read from, the first named first.
    pub fn paths(&self) -> Vec<&Path> {
        self.shards.iter().map(|shard| shard.path()).collect()
    }

    /// What the first file says of the model.
    pub fn metadata(&self) -> &GgufMetadata {
        self.shards[0].metadata()
    }

    /// Every tensor with its name, file by file; also those of types that are not read.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &GgufTensor)> {
        self.shards.iter().flat_map(|shard| shard.tensors())
    }

    fn shard(&self, name: &str) -> Result<&GgufFile, ImportError> {
        match self.tensors.get(name) {
            Some(&shard) => Ok(&self.shards[shard]),
            None => Err(unknown(self.origin(), name, &self.names())),
        }
    }
}

/// How the shards of a model are called.
struct Names<'p> {
    path: &'p Path,
    /// What all names begin with.
    stem: &'p str,
    count: u64,
}

impl<'p> Names<'p> {
    /// By the first shard's.
    fn of(path: &'p Path, first: &GgufFile, count: u64) -> Result<Names<'p>, ImportError> {
        if count > SHARD_LIMIT {
            return Err(wrong(path, format!("`split.count` is {count}, at most {SHARD_LIMIT} are opened")));
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = first.metadata().u64_if_any("split.no")?.unwrap_or(0);
        let stem = name.strip_suffix(&ending(number, count));
        let Some(stem) = stem else {
            let problem = format!(
                "`split.count` is {count}, and shard {} must be called NAME{}",
                number + 1,
                ending(number, count)
            );
            return Err(wrong(path, problem));
        };
        let names = Names { path, stem, count };
        if number != 0 {
            let first = names.name(0);
            return Err(wrong(
                path,
                format!("this is shard {} of {count}: give the first, {first}", number + 1),
            ));
        }
        Ok(names)
    }

    fn name(&self, number: u64) -> String {
        format!("{}{}", self.stem, ending(number, self.count))
    }

    fn open(&self, number: u64) -> Result<GgufFile, ImportError> {
        let path = self.path.with_file_name(self.name(number));
        let shard = GgufFile::open(&path)?;
        let told = |key| shard.metadata().u64_if_any(key);
        let (own, count) = (told("split.no")?, told("split.count")?);
        if (own, count) == (Some(number), Some(self.count)) {
            return Ok(shard);
        }
        let number = |n: Option<u64>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
        let problem = format!(
            "its `split.no` is {} and its `split.count` {}: it is of another model",
            number(own),
            number(count)
        );
        Err(wrong(&path, problem))
    }
}

/// `-00002-of-00003.gguf` for shard 1 of 3.
fn ending(number: u64, count: u64) -> String {
    format!("-{:05}-of-{count:05}.gguf", number + 1)
}

fn wrong(path: &Path, problem: String) -> ImportError {
    ImportError::Gguf { path: path.to_owned(), problem: GgufProblem::Shard(problem) }
}

impl WeightSource for GgufModel {
    fn origin(&self) -> String {
        self.path.display().to_string()
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.keys().map(String::as_str).collect()
    }

    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError> {
        self.shard(name)?.describe(name)
    }

    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError> {
        self.shard(name)?.read_at(name, offset, out)
    }

    fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }
}
