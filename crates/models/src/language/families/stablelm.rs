//! StableLM 2 (Bellagente et al. 2024): layer norms, a quarter of a head rotates; the larger ones with norms of each
//! head and both parts of a layer beside each other.

use crate::decoder::{DecoderConfig, LayerWeight, Norm, NormOver, QueryKeyNorm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, Gguf, Names, eps, gguf};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "StableLM",
    model_types: &["stablelm"],
    describe,
    names: &NAMES,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { keys: EPS, flags: FLAGS, ..gguf("stablelm", false) }),
};

const NAMES: Names = Names {
    of_layer: &[
        (LayerWeight::QueryNorm, "self_attn.q_layernorm.norms"),
        (LayerWeight::KeyNorm, "self_attn.k_layernorm.norms"),
    ],
    ..COMMON
};

const EPS: &[(&str, &str)] =
    &[("attention.layer_norm_epsilon", "layer_norm_eps"), ("use_parallel_residual", "use_parallel_residual")];
const FLAGS: &[(&str, &str)] = &[
    ("blk.0.attn_q.bias", "use_qkv_bias"),
    ("blk.0.attn_q_norm.weight", "qk_layernorm"),
    ("blk.0.ffn_norm.weight", FEED_NORM),
];

/// Of GGUF files alone: files of the smaller models say `use_parallel_residual` and have a norm before each part.
/// llama.cpp goes by the norm.
const FEED_NORM: &str = "feed_norm";

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let norm = Norm::layer(eps(keys, "layer_norm_eps")?, true);
    let mut layer = basics.llama(keys, Style { share: 0.25, ..Style::HALVES }, norm.eps)?;
    layer.attention.bias = keys.flag("use_qkv_bias", false)?;
    let is_parallel = keys.flag("use_parallel_residual", false)?;
    layer.parallel = !keys.flag(FEED_NORM, !is_parallel)?;
    layer.before_attention = Some(norm);
    layer.before_feed = Some(norm).filter(|_| !layer.parallel);
    if keys.flag("qk_layernorm", false)? {
        let norm = Norm::layer(norm.eps, false);
        layer.attention.query_key_norm = Some(QueryKeyNorm { norm, over: NormOver::OwnHead });
    }
    Ok(basics.uniform(layer, norm, keys.flag("tie_word_embeddings", false)?))
}
