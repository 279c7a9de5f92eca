//! Weights in several files, found through `model.safetensors.index.json`.

use crate::ENTRIES_LIMIT;
use crate::error::{ImportError, IndexProblem};
use crate::folder::{ModelFolder, WEIGHTS_INDEX};
use crate::safetensors::SafetensorsFile;
use crate::source::{WeightInfo, WeightSource, unknown};
use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::path::{Path, PathBuf};

/// The largest index that is read: half a million tensors.
const INDEX_LIMIT: u64 = 64 << 20;

/// Every shard stays open, so their number is bounded.
const SHARD_LIMIT: usize = 512;

/// An index: tensor names to the names of the files that hold them.
#[derive(Debug, PartialEq, Eq)]
pub struct ShardIndex {
    weight_map: IndexMap<String, String>,
}

impl ShardIndex {
    /// Parses an index; `path` names it in messages.
    pub fn parse(path: &Path, text: &str) -> Result<ShardIndex, ImportError> {
        #[derive(serde::Deserialize)]
        struct Raw {
            weight_map: WeightMap,
        }
        let raw: Raw = serde_json::from_str(text)
            .map_err(|source| ImportError::Json { path: path.to_owned(), source })?;
        let wrong = |problem| ImportError::Index { path: path.to_owned(), problem };
        if let Some(name) = raw.weight_map.duplicate {
            return Err(wrong(IndexProblem::Duplicate(name)));
        }
        let count = raw.weight_map.count;
        if count > ENTRIES_LIMIT {
            return Err(wrong(IndexProblem::TooMany { count, limit: ENTRIES_LIMIT }));
        }
        if raw.weight_map.files.is_empty() {
            return Err(wrong(IndexProblem::Empty));
        }
        Ok(ShardIndex { weight_map: raw.weight_map.files })
    }

    /// Tensor names to file names, in the order of the file.
    pub fn weight_map(&self) -> &IndexMap<String, String> {
        &self.weight_map
    }
}

/// `weight_map` as written; the first tensor that appears twice is kept apart.
#[derive(Default)]
struct WeightMap {
    files: IndexMap<String, String>,
    /// Tensors listed; those past the limit are counted alone.
    count: usize,
    duplicate: Option<String>,
}

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WeightMap, D::Error> {
        struct Files;
        impl<'de> Visitor<'de> for Files {
            type Value = WeightMap;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from tensor names to file names")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightMap, A::Error> {
                let mut read = WeightMap::default();
                while let Some((tensor, file)) = map.next_entry::<String, String>()? {
                    read.count += 1;
                    if read.count <= ENTRIES_LIMIT && read.files.insert(tensor.clone(), file).is_some() {
                        read.duplicate.get_or_insert(tensor);
                    }
                }
                Ok(read)
            }
        }
        deserializer.deserialize_map(Files)
    }
}

/// The shards of one model, all opened and checked.
pub struct ShardedWeights {
    path: PathBuf,
    shards: Vec<SafetensorsFile>,
    /// Tensor to position in `shards`.
    tensors: IndexMap<String, usize>,
}

impl ShardedWeights {
    /// Opens the folder's index and every shard that it names.
    pub fn open(folder: &ModelFolder) -> Result<ShardedWeights, ImportError> {
        let path = folder.file(WEIGHTS_INDEX);
        let text = folder.read_text(WEIGHTS_INDEX, INDEX_LIMIT)?.ok_or_else(|| ImportError::Missing {
            path: path.clone(),
            remedy: "it lists the model's shards: get the model again".to_owned(),
        })?;
        let index = ShardIndex::parse(&path, &text)?;
        let wrong = |problem| ImportError::Index { path: path.clone(), problem };
        let mut files: IndexMap<&str, usize> = IndexMap::new();
        for file in index.weight_map.values() {
            let next = files.len();
            files.entry(file).or_insert(next);
        }
        if files.len() > SHARD_LIMIT {
            return Err(wrong(IndexProblem::TooManyShards(files.len())));
        }
        let open = |name: &&str| SafetensorsFile::open(&folder.named_file(name, &path)?);
        let shards = files.keys().map(open).collect::<Result<Vec<_>, _>>()?;
        let mut tensors = IndexMap::new();
        for (tensor, file) in &index.weight_map {
            let shard = files[file.as_str()];
            if !shards[shard].contains(tensor) {
                let (tensor, shard) = (tensor.clone(), file.clone());
                return Err(wrong(IndexProblem::NotInShard { tensor, shard }));
            }
            tensors.insert(tensor.clone(), shard);
        }
        Ok(ShardedWeights { path, shards, tensors })
    }

    /// The shards, in the order in which the index names them first.
    pub fn into_shards(self) -> Vec<SafetensorsFile> {
        self.shards
    }

    fn shard(&self, name: &str) -> Result<&SafetensorsFile, ImportError> {
        match self.tensors.get(name) {
            Some(&shard) => Ok(&self.shards[shard]),
            None => Err(unknown(self.origin(), name, &self.names())),
        }
    }
}

impl WeightSource for ShardedWeights {
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
