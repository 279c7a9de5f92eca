//! Weights that are already in memory: for tests, for examples, for models made in code.

use crate::error::ImportError;
use crate::source::{WeightInfo, WeightSource, check_piece, unknown};
use indexmap::IndexMap;
use pumice_types::{Bytes, Tensor};

/// Tensors by name.
#[derive(Clone, Debug, Default)]
pub struct MemoryWeights(IndexMap<String, Tensor>);

impl MemoryWeights {
    /// No tensors.
    pub fn new() -> MemoryWeights {
        MemoryWeights::default()
    }

    /// Adds a tensor; a tensor of the same name is replaced.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.0.insert(name.into(), tensor);
    }

    fn get(&self, name: &str) -> Result<&Tensor, ImportError> {
        self.0.get(name).ok_or_else(|| unknown(self.origin(), name, &self.names()))
    }
}

impl FromIterator<(String, Tensor)> for MemoryWeights {
    fn from_iter<I: IntoIterator<Item = (String, Tensor)>>(tensors: I) -> MemoryWeights {
        MemoryWeights(tensors.into_iter().collect())
    }
}

impl WeightSource for MemoryWeights {
    fn origin(&self) -> String {
        "weights in memory".to_owned()
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError> {
        let t = self.get(name)?;
        Ok(WeightInfo {
            encoding: t.encoding(),
            shape: t.shape().to_vec(),
            bytes: Bytes(t.bytes().len() as u64),
        })
    }

    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError> {
        let bytes = self.get(name)?.bytes();
        check_piece(self, name, bytes.len() as u64, offset, out)?;
        // The offset lies inside, or nothing is wanted.
        let from = offset.min(bytes.len() as u64) as usize;
        out.copy_from_slice(&bytes[from..from + out.len()]);
        Ok(())
    }

    fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}
