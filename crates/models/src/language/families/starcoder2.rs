//! StarCoder 2 (Lozhkov et al. 2024): layer norms, biases everywhere, a feed-forward part without a gate, a window.

use crate::config::Activation;
use crate::decoder::{DecoderConfig, LayerWeight, Norm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, Gguf, Names, eps, gguf};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "StarCoder 2",
    model_types: &["starcoder2"],
    describe,
    names: &NAMES,
    ignored: IGNORED,
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { keys: EPS, ..gguf("starcoder2", false) }),
};

const IGNORED: &[(&str, &str)] = &[
    ("residual_dropout", "training"),
    ("embedding_dropout", "training"),
    ("rms_norm_eps", "its norms are layer norms, with an ε of their own"),
];

const NAMES: Names =
    Names { of_layer: &[(LayerWeight::Up, "mlp.c_fc"), (LayerWeight::Down, "mlp.c_proj")], ..COMMON };

const EPS: &[(&str, &str)] = &[("attention.layer_norm_epsilon", "norm_epsilon")];

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    keys.expect_text("mlp_type", "default")?;
    keys.expect_text("norm_type", "layer_norm")?;
    let norm = Norm::layer(eps(keys, "norm_epsilon")?, true);
    let mut layer = basics.llama(keys, Style::HALVES, norm.eps)?;
    layer.before_attention = Some(norm);
    layer.before_feed = Some(norm);
    layer.attention.window = keys.count_if_any("sliding_window")?;
    layer.attention.bias = keys.flag("use_bias", true)?;
    layer.attention.output_bias = layer.attention.bias;
    layer.feed.bias = layer.attention.bias;
    layer.feed.gated = false;
    layer.feed.activation = keys.activation("hidden_act", Activation::GeluTanh)?;
    Ok(basics.uniform(layer, norm, keys.flag("tie_word_embeddings", true)?))
}
