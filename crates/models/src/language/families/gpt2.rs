//! GPT-2 (Radford et al. 2019): learned positions, layer norms, biases everywhere; matrices are stored as their
//! transposes.

use crate::config::Activation;
use crate::decoder::{DecoderConfig, Layer, LayerWeight, Norm, Rotation};
use crate::error::ModelError;
use crate::language::family::{Basics, Family, Gguf, Names, SizeKeys, eps, gguf};
use crate::language::keys::Keys;

pub(super) const FAMILY: Family = Family {
    name: "GPT-2",
    model_types: &["gpt2"],
    describe,
    names: &NAMES,
    ignored: IGNORED,
    sizes: &SIZES,
    gguf: Some(Gguf { keys: EPS, ..gguf("gpt2", false) }),
};

const IGNORED: &[(&str, &str)] = &[
    ("resid_pdrop", "training"),
    ("embd_pdrop", "training"),
    ("attn_pdrop", "training"),
    ("n_ctx", "an older name of n_positions"),
    ("n_special", "how it was trained"),
    ("predict_special_tokens", "how it was trained"),
    ("output_past", "how it is run"),
    ("reorder_and_upcast_attn", "how products are rounded"),
    ("summary_type", "a head for classes"),
    ("summary_use_proj", "a head for classes"),
    ("summary_proj_to_labels", "a head for classes"),
    ("summary_activation", "a head for classes"),
    ("summary_first_dropout", "a head for classes"),
];

const SIZES: SizeKeys = SizeKeys {
    hidden: "n_embd",
    layers: "n_layer",
    heads: "n_head",
    feed: "n_inner",
    context: "n_positions",
};

const NAMES: Names = Names {
    // Its makers' files have none.
    prefixes: &["transformer.", ""],
    embedding: "wte",
    positions: "wpe",
    norm: "ln_f",
    output: "lm_head",
    layers: "h",
    of_layer: &[
        (LayerWeight::AttentionNorm, "ln_1"),
        (LayerWeight::QueryKeyValue, "attn.c_attn"),
        (LayerWeight::AttentionOutput, "attn.c_proj"),
        (LayerWeight::FeedNorm, "ln_2"),
        (LayerWeight::Up, "mlp.c_fc"),
        (LayerWeight::Down, "mlp.c_proj"),
    ],
    transposed: true,
};

const EPS: &[(&str, &str)] = &[("attention.layer_norm_epsilon", "layer_norm_epsilon")];

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    keys.expect_flag("scale_attn_weights", true)?;
    keys.expect_flag("scale_attn_by_inverse_layer_idx", false)?;
    let norm = Norm::layer(eps(keys, "layer_norm_epsilon")?, true);
    let heads = (basics.heads, basics.kv_heads, basics.width);
    let mut layer = Layer::llama(heads, Rotation::new(10_000.0, 0, false), basics.feed, norm.eps);
    layer.before_attention = Some(norm);
    layer.before_feed = Some(norm);
    layer.attention.rotary = None;
    layer.attention.fused = true;
    layer.attention.bias = true;
    layer.attention.output_bias = true;
    layer.feed.bias = true;
    layer.feed.gated = false;
    layer.feed.activation = keys.activation("activation_function", Activation::GeluTanh)?;
    let mut model = basics.uniform(layer, norm, keys.flag("tie_word_embeddings", true)?);
    model.positions = Some(basics.trained);
    Ok(model)
}
