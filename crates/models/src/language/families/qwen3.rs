//! Qwen 3 (Yang et al. 2025): Llama whose queries and keys have a norm for each head.

use crate::decoder::{Norm, NormOver, QueryKeyNorm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Description, Family, eps, gguf};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "Qwen 3",
    model_types: &["qwen3"],
    describe,
    names: &COMMON,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: gguf("qwen3", false),
};

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<Description, ModelError> {
    let eps = eps(keys, "rms_norm_eps")?;
    let mut layer = basics.llama(keys, Style::HALVES, eps)?;
    layer.attention.bias = keys.flag("attention_bias", false)?;
    layer.attention.output_bias = layer.attention.bias;
    layer.attention.query_key_norm = Some(QueryKeyNorm { norm: Norm::rms(eps), over: NormOver::Head });
    // Layers from this one on have the window, where it is used at all.
    let (uses, first) = (keys.flag("use_sliding_window", false)?, keys.get("max_window_layers"));
    let first = first.and_then(serde_json::Value::as_u64).unwrap_or(0);
    let windows = basics.windows(keys, |i| uses && i as u64 >= first)?;
    let layers = windows.into_iter().map(|window| {
        let mut layer = layer.clone();
        layer.attention.window = window;
        layer
    });
    let tied = keys.flag("tie_word_embeddings", false)?;
    Ok(basics.of_layers(layers.collect(), Norm::rms(eps), tied))
}
