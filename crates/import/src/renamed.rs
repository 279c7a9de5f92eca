//! A source under other names: the graph's parameters on this side, the file's tensors on the other.

use crate::error::ImportError;
use crate::source::{WeightInfo, WeightSource, unknown};
use indexmap::IndexMap;

/// A source of which some tensors are seen, under new names.
pub struct RenamedWeights {
    inner: Box<dyn WeightSource>,
    /// New name to inner name.
    names: IndexMap<String, String>,
}

impl RenamedWeights {
    /// Shows the tensors of `inner` under the names on the left of the map; those that the map leaves out are not seen.
    pub fn new(inner: Box<dyn WeightSource>, names: IndexMap<String, String>) -> RenamedWeights {
        RenamedWeights { inner, names }
    }

    /// The inner source's name for a tensor.
    pub fn inner_name(&self, name: &str) -> Option<&str> {
        self.names.get(name).map(String::as_str)
    }

    fn resolve(&self, name: &str) -> Result<&str, ImportError> {
        self.inner_name(name).ok_or_else(|| unknown(self.origin(), name, &self.names()))
    }
}

impl WeightSource for RenamedWeights {
    fn origin(&self) -> String {
        self.inner.origin()
    }

    fn names(&self) -> Vec<&str> {
        self.names.keys().map(String::as_str).collect()
    }

    fn describe(&self, name: &str) -> Result<WeightInfo, ImportError> {
        self.inner.describe(self.resolve(name)?)
    }

    fn read_at(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ImportError> {
        self.inner.read_at(self.resolve(name)?, offset, out)
    }

    fn contains(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }
}
