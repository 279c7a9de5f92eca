//! The tensors of a model: in, its configuration and what a source calls them; out, which ones its graph has.

use crate::decoder::{DecoderConfig, DecoderWeights, Part, WeightRole, recompute_graph_of};
use crate::error::ModelError;
use pumice_types::Encoding;
use std::cell::{Cell, RefCell};

/// Tensors by their places.
pub(super) struct Roles {
    /// Each with its name in the source that was asked.
    pub all: Vec<(WeightRole, Part, String)>,
    /// Whether each head's part of a norm is a tensor of its own.
    pub has_own_heads: bool,
}

/// Weights that note what a graph asks for.
struct Noted<'w> {
    inner: &'w dyn DecoderWeights,
    all: RefCell<Vec<(WeightRole, Part, String)>>,
    has_own_heads: Cell<bool>,
}

impl DecoderWeights for Noted<'_> {
    fn name(&self, role: WeightRole, part: Part) -> String {
        let name = self.inner.name(role, part);
        let mut all = self.all.borrow_mut();
        if !all.iter().any(|(_, _, known)| *known == name) {
            all.push((role, part, name.clone()));
        }
        name
    }

    fn encoding(&self, name: &str) -> Encoding {
        self.inner.encoding(name)
    }

    fn encoding_of(&self, name: &str, shape: &[u64]) -> Encoding {
        self.inner.encoding_of(name, shape)
    }

    fn is_transposed(&self, role: WeightRole) -> bool {
        self.inner.is_transposed(role)
    }

    fn name_of_head(&self, role: WeightRole, head: u64) -> Option<String> {
        let name = self.inner.name_of_head(role, head);
        self.has_own_heads.set(self.has_own_heads.get() || name.is_some());
        name
    }
}

impl Roles {
    /// Of the graph of a model over weights of these names.
    ///
    /// # Errors
    /// A graph that does not build.
    pub fn of(config: &DecoderConfig, weights: &dyn DecoderWeights) -> Result<Roles, ModelError> {
        let noted = Noted { inner: weights, all: RefCell::default(), has_own_heads: Cell::default() };
        recompute_graph_of("written", config, &noted)?;
        Ok(Roles { all: noted.all.into_inner(), has_own_heads: noted.has_own_heads.get() })
    }

    /// Their names in a source.
    pub fn names(&self, weights: &dyn DecoderWeights) -> impl Iterator<Item = String> {
        self.all.iter().map(|(role, part, _)| weights.name(*role, *part))
    }
}
