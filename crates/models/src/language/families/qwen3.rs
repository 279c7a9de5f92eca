//! Qwen 3 (Yang et al. 2025): Llama whose queries and keys have a norm for each head.

use crate::decoder::{DecoderConfig, Norm, NormOver, QueryKeyNorm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, eps, gguf, read_attention_bias};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "Qwen 3",
    model_types: &["qwen3"],
    describe,
    names: &COMMON,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: Some(gguf("qwen3", false)),
};

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let eps = eps(keys, "rms_norm_eps")?;
    let mut layer = basics.llama(keys, Style::HALVES, eps)?;
    read_attention_bias(keys, &mut layer)?;
    layer.attention.query_key_norm = Some(QueryKeyNorm { norm: Norm::rms(eps), over: NormOver::Head });
    let windows = super::qwen2::windows(basics, keys)?;
    let layers = Basics::windowed(&layer, windows);
    let tied = keys.flag("tie_word_embeddings", false)?;
    Ok(basics.of_layers(layers, Norm::rms(eps), tied))
}
