//! The tensors of a model: in, its configuration and what a source calls them; out, which ones its graph has.

use crate::decoder::{DecoderConfig, DecoderWeights, Part, WeightRole, recompute_graph_of};
use crate::error::ModelError;
use pumice_types::Encoding;
use std::cell::RefCell;

/// Tensors by their places.
pub(super) struct Roles {
    /// Each with its name in the source that was asked.
    pub all: Vec<(WeightRole, Part, String)>,
    /// Norms of which each head's part is a tensor of its own, with the names of these in their order.
    pub heads: Vec<(WeightRole, Vec<String>)>,
}

/// Weights that note what a graph asks for.
struct Noted<'w> {
    inner: &'w dyn DecoderWeights,
    all: RefCell<Vec<(WeightRole, Part, String)>>,
    heads: RefCell<Vec<(WeightRole, Vec<String>)>>,
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
        let name = self.inner.name_of_head(role, head)?;
        let mut norms = self.heads.borrow_mut();
        match norms.iter_mut().find(|(known, _)| *known == role) {
            Some((_, heads)) if heads.contains(&name) => {}
            Some((_, heads)) => heads.push(name.clone()),
            None => norms.push((role, vec![name.clone()])),
        }
        Some(name)
    }
}

impl Roles {
    /// Of the graph of a model over weights of these names.
    ///
    /// # Errors
    /// A graph that does not build.
    pub fn of(config: &DecoderConfig, weights: &dyn DecoderWeights) -> Result<Roles, ModelError> {
        let noted = Noted { inner: weights, all: RefCell::default(), heads: RefCell::default() };
        recompute_graph_of("written", config, &noted)?;
        Ok(Roles { all: noted.all.into_inner(), heads: noted.heads.into_inner() })
    }

    /// Their names in a source.
    pub fn names(&self, weights: &dyn DecoderWeights) -> impl Iterator<Item = String> {
        self.all.iter().map(|(role, part, _)| weights.name(*role, *part))
    }
}
