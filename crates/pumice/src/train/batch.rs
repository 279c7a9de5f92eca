//! A batch: tensors by the names of inputs.

use pumice_train::names;
use pumice_types::{DType, Tensor, TensorView};

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

    /// Rows of the data set ([`Recipe::data_set`](super::Recipe::data_set)), counted from 0; further inputs may be
    /// added.
    pub fn rows(index: &[i32]) -> Batch {
        let bytes = index.iter().flat_map(|i| i.to_le_bytes()).collect();
        let index = Tensor::from_bytes(DType::I32, &[index.len() as u64], bytes);
        // As many bytes as numbers need.
        index.map_or_else(|_| Batch::new(), |index| Batch::new().with(names::INDEX, index))
    }

    /// One more input.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, tensor: impl Into<Tensor>) -> Batch {
        self.tensors.push((name.into(), tensor.into()));
        self
    }

    /// A name that is the trainer's own to fill.
    pub(super) fn reserved(&self) -> Option<&str> {
        let own = [names::NUMBERS, names::BASE, names::SHARE, names::ENDS];
        self.tensors.iter().map(|(name, _)| name.as_str()).find(|name| own.contains(name))
    }

    /// A row before the first.
    pub(super) fn row_before_the_first(&self) -> Option<i32> {
        let index = self.tensors.iter().find(|(name, _)| name == names::INDEX)?;
        index.1.to_vec::<i32>().ok()?.into_iter().find(|row| *row < 0)
    }

    /// The inputs as a run takes them.
    pub fn views(&self) -> Vec<(&str, TensorView<'_>)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect()
    }
}
