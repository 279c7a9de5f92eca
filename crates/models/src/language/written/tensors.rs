//! The tensors of a folder as a GGUF file has them: in, what the model's graph has; out, other names and layouts.

use super::super::family::{Family, Gguf};
use super::super::roles::Roles;
use super::super::weights::gguf_name;
use crate::decoder::{DecoderConfig, LayerWeight, Norm, Part, WeightRole};
use crate::error::ModelError;
use pumice_import::{Transform, TransformedWeights, WeightSource};
use pumice_types::Tensor;

/// The tensors of a folder as a file of the family has them.
///
/// # Errors
/// A tensor that is missing, or whose layout cannot be brought into the file's.
pub(super) fn transformed(
    source: Box<dyn WeightSource>,
    roles: &Roles,
    (family, gguf): (&Family, &Gguf),
    config: &DecoderConfig,
) -> Result<TransformedWeights, ModelError> {
    let rotary = config.layers.iter().find_map(|layer| layer.attention.rotary.as_ref());
    let is_paired = gguf.interleaved && rotary.is_some_and(|rotary| !rotary.interleaved);
    let mut shown = Vec::new();
    for (role, part, name) in &roles.all {
        let is_matrix = source.describe(name)?.shape.len() == 2;
        let how = match role {
            WeightRole::Layer(i, weight) if is_paired && pairs(*weight) => {
                let attention = &config.layers[*i as usize].attention;
                let of_keys = *weight == LayerWeight::Key;
                Transform::Paired { heads: if of_keys { attention.kv_heads } else { attention.heads } }
            }
            WeightRole::Layer(..) if family.names.transposed && is_matrix => Transform::Transposed,
            _ if *part == Part::Weight && norm(config, *role).is_some_and(|norm| norm.less_one) => {
                Transform::OneMore
            }
            _ => Transform::Renamed,
        };
        shown.push((gguf_name(*role, *part), name, how));
    }
    let stacked = |(role, names): &(WeightRole, Vec<String>)| Ok((*role, stacked(source.as_ref(), names)?));
    let norms = roles.heads.iter().map(stacked).collect::<Result<Vec<_>, ModelError>>()?;
    let mut weights = TransformedWeights::of(source);
    shown.into_iter().try_for_each(|(to, name, how)| weights.show(&to, name, how))?;
    for (role, norm) in norms {
        norm.into_iter().for_each(|norm| weights.give(&gguf_name(role, Part::Weight), norm));
    }
    Ok(weights)
}

/// Tensors as the rows of one; none where they are not alike.
fn stacked(source: &dyn WeightSource, names: &[String]) -> Result<Option<Tensor>, ModelError> {
    let rows = names.iter().map(|name| source.load(name)).collect::<Result<Vec<Tensor>, _>>()?;
    let Some(first) = rows.first() else { return Ok(None) };
    let is_alike = |row: &Tensor| (row.encoding(), row.shape()) == (first.encoding(), first.shape());
    if !rows.iter().all(is_alike) {
        return Ok(None);
    }
    let shape = [&[rows.len() as u64], first.shape()].concat();
    let bytes = rows.iter().flat_map(Tensor::bytes).copied().collect();
    Ok(Tensor::from_bytes(first.encoding(), &shape, bytes).ok())
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
