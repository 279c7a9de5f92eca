//! Llama 2 and 3 (Touvron et al. 2023), and what is built like it: SmolLM2, Falcon 3, Yi, and many others.

use crate::decoder::{DecoderConfig, Norm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, Gguf, eps, gguf, read_attention_bias};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "Llama",
    model_types: &["llama"],
    describe,
    names: &COMMON,
    ignored: &[("is_llama_config", "which program trained it")],
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { flags: FLAGS, ..gguf("llama", true) }),
};

const FLAGS: &[(&str, &str)] = &[("blk.0.attn_q.bias", "attention_bias"), ("blk.0.ffn_up.bias", "mlp_bias")];

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    keys.expect_flag("rope_interleaved", false)?;
    let eps = eps(keys, "rms_norm_eps")?;
    let mut layer = basics.llama(keys, Style::HALVES, eps)?;
    read_attention_bias(keys, &mut layer)?;
    layer.feed.bias = keys.flag("mlp_bias", false)?;
    Ok(basics.uniform(layer, Norm::rms(eps), keys.flag("tie_word_embeddings", false)?))
}
