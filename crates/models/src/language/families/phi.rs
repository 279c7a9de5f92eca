//! Phi 1, 1.5 and 2 (Li et al. 2023): attention and a feed-forward part without a gate read one layer norm; biases
//! everywhere, after the output matrix, too; a part of a head rotates.

use crate::config::Activation;
use crate::decoder::{DecoderConfig, LayerWeight, Norm, NormOver, QueryKeyNorm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, Gguf, Names, eps, gguf};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "Phi 2",
    model_types: &["phi"],
    describe,
    names: &NAMES,
    ignored: &[("resid_pdrop", "training"), ("embd_pdrop", "training")],
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { keys: EPS, flags: FLAGS, ..gguf("phi2", false) }),
};

const NAMES: Names = Names {
    norm: "final_layernorm",
    of_layer: &[
        (LayerWeight::QueryNorm, "self_attn.q_layernorm"),
        (LayerWeight::KeyNorm, "self_attn.k_layernorm"),
        (LayerWeight::AttentionOutput, "self_attn.dense"),
        (LayerWeight::Up, "mlp.fc1"),
        (LayerWeight::Down, "mlp.fc2"),
    ],
    ..COMMON
};

const EPS: &[(&str, &str)] = &[("attention.layer_norm_epsilon", "layer_norm_eps")];

/// GGUF files of 2023 have queries, keys and values in one matrix; a `config.json` has no such key.
const FUSED: &str = "one matrix for queries, keys and values";
const FLAGS: &[(&str, &str)] = &[("blk.0.attn_qkv.weight", FUSED)];

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let norm = Norm::layer(eps(keys, "layer_norm_eps")?, true);
    let mut layer = basics.llama(keys, Style { share: 0.5, ..Style::HALVES }, norm.eps)?;
    layer.parallel = true;
    layer.before_attention = Some(norm);
    layer.before_feed = None;
    layer.attention.bias = true;
    layer.attention.output_bias = true;
    layer.attention.fused = keys.flag(FUSED, false)?;
    if keys.flag("qk_layernorm", false)? {
        layer.attention.query_key_norm = Some(QueryKeyNorm { norm, over: NormOver::Head });
    }
    layer.feed.bias = true;
    layer.feed.gated = false;
    layer.feed.activation = keys.activation("hidden_act", Activation::GeluTanh)?;
    let mut model = basics.uniform(layer, norm, keys.flag("tie_word_embeddings", false)?);
    model.output_bias = true;
    Ok(model)
}
