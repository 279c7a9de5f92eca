//! The tensors of a model: in, its configuration; out, which ones its graph has, and how a GGUF file has each.

use super::super::family::Family;
use super::super::weights::gguf_name;
use crate::decoder::{
    DecoderConfig, DecoderWeights, LayerWeight, Norm, Part, WeightRole, recompute_graph_of,
};
use crate::error::ModelError;
use pumice_import::{Relaid, RelaidWeights, WeightSource};
use pumice_types::Encoding;
use std::cell::{Cell, RefCell};

/// Tensors by their places.
pub(super) struct Roles {
    /// Each with its name in the source that was asked.
    all: Vec<(WeightRole, Part, String)>,
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

/// The tensors of a folder as a file of the family has them.
///
/// # Errors
/// A tensor that is missing, or whose layout cannot be brought into the file's.
pub(super) fn relaid(
    source: Box<dyn WeightSource>,
    roles: &Roles,
    family: &Family,
    config: &DecoderConfig,
) -> Result<RelaidWeights, ModelError> {
    let rotary = config.layers.iter().find_map(|layer| layer.attention.rotary.as_ref());
    let is_paired = family.gguf.interleaved && rotary.is_some_and(|rotary| !rotary.interleaved);
    let mut relaid = Vec::new();
    for (role, part, name) in &roles.all {
        let is_matrix = source.describe(name)?.shape.len() == 2;
        let how = match role {
            WeightRole::Layer(i, weight) if is_paired && pairs(*weight) => {
                let attention = &config.layers[*i as usize].attention;
                let of_keys = *weight == LayerWeight::Key;
                Relaid::Paired { heads: if of_keys { attention.kv_heads } else { attention.heads } }
            }
            WeightRole::Layer(..) if family.names.transposed && is_matrix => Relaid::Transposed,
            _ if *part == Part::Weight && norm(config, *role).is_some_and(|norm| norm.less_one) => {
                Relaid::OneMore
            }
            _ => Relaid::Renamed,
        };
        relaid.push((gguf_name(*role, *part), name, how));
    }
    let mut weights = RelaidWeights::of(source);
    relaid.into_iter().try_for_each(|(to, name, how)| weights.show(&to, name, how))?;
    Ok(weights)
}

/// Whether rows of a weight are what rotates.
fn pairs(weight: LayerWeight) -> bool {
    matches!(weight, LayerWeight::Query | LayerWeight::Key)
}

/// The norm that a weight is of.
fn norm(config: &DecoderConfig, role: WeightRole) -> Option<Norm> {
    let WeightRole::Layer(i, weight) = role else {
        return Some(config.norm).filter(|_| role == WeightRole::Norm);
    };
    let layer = &config.layers[i as usize];
    match weight {
        LayerWeight::AttentionNorm => layer.before_attention,
        LayerWeight::AfterAttention => layer.after_attention,
        LayerWeight::FeedNorm => layer.before_feed,
        LayerWeight::AfterFeed => layer.after_feed,
        LayerWeight::QueryNorm | LayerWeight::KeyNorm => layer.attention.query_key_norm.map(|norm| norm.norm),
        _ => None,
    }
}
