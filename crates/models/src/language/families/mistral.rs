//! Mistral (Jiang et al. 2023): Llama with a window.

use crate::decoder::{DecoderConfig, Norm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, eps};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "Mistral",
    model_types: &["mistral"],
    describe,
    names: &COMMON,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: None,
};

/// Also of Ministral 3, whose other settings are rotary ones.
///
/// # Errors
/// Keys that are missing or contradict each other.
pub(super) fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let eps = eps(keys, "rms_norm_eps")?;
    let mut layer = basics.llama(keys, Style::HALVES, eps)?;
    layer.attention.window = keys.count_if_any("sliding_window")?;
    Ok(basics.uniform(layer, Norm::rms(eps), keys.flag("tie_word_embeddings", false)?))
}
