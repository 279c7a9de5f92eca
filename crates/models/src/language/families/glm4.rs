//! GLM-4-0414 (Zhipu AI 2025): norms before and after each part, half of a head rotates in pairs of neighbours, one
//! matrix for gate and feed-forward part.

use crate::decoder::{DecoderConfig, LayerWeight, Norm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, Gguf, Names, eps, gguf};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "GLM 4",
    model_types: &["glm4"],
    describe,
    names: &NAMES,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { flags: &[("blk.0.attn_q.bias", "attention_bias")], ..gguf("glm4", true) }),
};

const NAMES: Names = Names {
    of_layer: &[
        (LayerWeight::AfterAttention, "post_self_attn_layernorm"),
        (LayerWeight::AfterFeed, "post_mlp_layernorm"),
    ],
    ..COMMON
};

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let norm = Norm::rms(eps(keys, "rms_norm_eps")?);
    let mut layer = basics.llama(keys, Style { share: 0.5, ..Style::PAIRS }, norm.eps)?;
    layer.after_attention = Some(norm);
    layer.after_feed = Some(norm);
    layer.attention.bias = keys.flag("attention_bias", false)?;
    layer.feed.fused = true;
    Ok(basics.uniform(layer, norm, keys.flag("tie_word_embeddings", false)?))
}
