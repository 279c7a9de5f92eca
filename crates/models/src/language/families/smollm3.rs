//! SmolLM 3 (Hugging Face 2025): Llama of which some layers have no positions.

use crate::decoder::{DecoderConfig, Norm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, eps, gguf, read_attention_bias};
use crate::language::keys::Keys;
use crate::language::rotary::Style;
use pumice_ir::FloatRange;

pub(super) const FAMILY: Family = Family {
    name: "SmolLM 3",
    model_types: &["smollm3"],
    describe,
    names: &COMMON,
    ignored: IGNORED,
    sizes: &COMMON_SIZES,
    gguf: Some(gguf("smollm3", true)),
};

const IGNORED: &[(&str, &str)] = &[("max_window_layers", "read where there is a window")];

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let eps = eps(keys, "rms_norm_eps")?;
    let mut layer = basics.llama(keys, Style { theta: 2_000_000.0, ..Style::HALVES }, eps)?;
    read_attention_bias(keys, &mut layer)?;
    layer.feed.bias = keys.flag("mlp_bias", false)?;
    let (uses, rotates) = (keys.flag("use_sliding_window", false)?, rotates(basics, keys)?);
    let windows = basics.windows(keys, |i| !rotates[i])?;
    let layers = windows.into_iter().zip(&rotates).map(|(window, rotates)| {
        let mut layer = layer.clone();
        layer.attention.window = window.filter(|_| uses);
        layer.attention.rotary = layer.attention.rotary.filter(|_| *rotates);
        layer
    });
    let tied = keys.flag("tie_word_embeddings", true)?;
    Ok(basics.of_layers(layers.collect(), Norm::rms(eps), tied))
}

/// Of each layer whether it has positions: `no_rope_layers` says 1 where it does.
fn rotates(basics: &Basics, keys: &Keys<'_>) -> Result<Vec<bool>, ModelError> {
    let every = keys.count_if_any("no_rope_layer_interval")?.unwrap_or(4) as usize;
    match keys.numbers("no_rope_layers", FloatRange::NOT_NEGATIVE)? {
        None => Ok((0..basics.layers).map(|i| !(i + 1).is_multiple_of(every)).collect()),
        Some(list) if list.len() == basics.layers => {
            Ok(list.into_iter().map(|rotates| rotates != 0.0).collect())
        }
        Some(list) => {
            let problem = format!("has {} numbers, and there are {} layers", list.len(), basics.layers);
            Err(keys.wrong("no_rope_layers", problem, "get the file again"))
        }
    }
}
