//! A batch: tensors by the names of inputs.

use pumice_types::{Tensor, TensorView};

/// What the inputs of one run are. Extents may change from batch to batch within the bounds of the graph's symbols.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    tensors: Vec<(String, Tensor)>,
}

impl Batch {
    /// Without any tensor yet.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// One more input.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, tensor: impl Into<Tensor>) -> Batch {
        self.tensors.push((name.into(), tensor.into()));
        self
    }

    /// The inputs as a run takes them.
    pub(super) fn views(&self) -> Vec<(&str, TensorView<'_>)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect()
    }
}
