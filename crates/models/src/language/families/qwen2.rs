//! Qwen 2 and 2.5 (Yang et al. 2024): Llama whose queries, keys and values have biases.

use crate::decoder::{DecoderConfig, Norm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, eps, gguf};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "Qwen 2",
    model_types: &["qwen2"],
    describe,
    names: &COMMON,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: Some(gguf("qwen2", false)),
};

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    keys.expect_flag("use_mrope", false)?;
    let eps = eps(keys, "rms_norm_eps")?;
    let mut layer = basics.llama(keys, Style::HALVES, eps)?;
    layer.attention.bias = true;
    let windows = windows(basics, keys)?;
    let layers = Basics::windowed(&layer, windows);
    let tied = keys.flag("tie_word_embeddings", false)?;
    Ok(basics.of_layers(layers, Norm::rms(eps), tied))
}

/// The windows of Qwen 2 and 3: of layers from a number on, where they are used at all.
///
/// # Errors
/// As of [`Basics::windows`].
pub(super) fn windows(basics: &Basics, keys: &Keys<'_>) -> Result<Vec<Option<u64>>, ModelError> {
    let (uses, first) = (keys.flag("use_sliding_window", false)?, keys.place_if_any("max_window_layers")?);
    basics.windows(keys, |i| uses && i as u64 >= first.unwrap_or(0))
}
