//! Gemma 2 (Gemma Team 2024): norms before and after each part, whose weights are stored less 1; softcaps; every other
//! layer with a window.

use crate::config::Activation;
use crate::decoder::{DecoderConfig, Layer, LayerWeight, Norm};
use crate::error::ModelError;
use crate::language::family::{
    Basics, COMMON, COMMON_SIZES, Family, Gguf, Names, eps, gguf, read_attention_bias,
};
use crate::language::keys::Keys;
use crate::language::rotary::Style;
use pumice_ir::FloatRange;

pub(super) const FAMILY: Family = Family {
    name: "Gemma 2",
    model_types: &["gemma2"],
    describe,
    names: &NAMES,
    ignored: &[("sliding_window_size", "sliding_window says it")],
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { keys: CAPS, ..gguf("gemma2", false) }),
};

const NAMES: Names = Names { of_layer: &[(LayerWeight::FeedNorm, "pre_feedforward_layernorm")], ..COMMON };

const CAPS: &[(&str, &str)] = &[
    ("attn_logit_softcapping", "attn_logit_softcapping"),
    ("final_logit_softcapping", "final_logit_softcapping"),
];

/// Layers of the 27B model, whose products of queries and keys have another factor, which GGUF files do not say.
const LAYERS_OF_27B: usize = 46;

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let of_llama = basics.llama(keys, Style::HALVES, eps(keys, "rms_norm_eps")?)?;
    let (layer, norm) = layer(basics, keys, of_llama, LAYERS_OF_27B)?;
    let windows = basics.windows(keys, |i| i % 2 == 0)?;
    let layers = Basics::windowed(&layer, windows);
    let mut model = basics.of_layers(layers, norm, keys.flag("tie_word_embeddings", true)?);
    model.embedding_scale = (basics.hidden as f32).sqrt();
    model.logit_softcap = softcap(keys, "final_logit_softcapping")?;
    Ok(model)
}

/// What Gemma 2 and 3 have in common: the layer without its window, and the norm. Where nothing says the factor of
/// products, it is that of the whole width over the heads in the 27B model, which is known by its layers.
///
/// # Errors
/// Numbers that are not in range.
pub(super) fn layer(
    basics: &Basics,
    keys: &Keys<'_>,
    mut layer: Layer,
    layers_of_27b: usize,
) -> Result<(Layer, Norm), ModelError> {
    let norm = Norm { less_one: true, ..Norm::rms(eps(keys, "rms_norm_eps")?) };
    layer.before_attention = Some(norm);
    layer.after_attention = Some(norm);
    layer.before_feed = Some(norm);
    layer.after_feed = Some(norm);
    let of_27b = (basics.layers == layers_of_27b).then(|| basics.hidden as f64 / basics.heads as f64);
    let scale = keys.number("query_pre_attn_scalar", FloatRange::POSITIVE)?.or(of_27b);
    layer.attention.scale = scale.map(|scale| 1.0 / (scale as f32).sqrt());
    layer.attention.softcap = softcap(keys, "attn_logit_softcapping")?;
    read_attention_bias(keys, &mut layer)?;
    layer.feed.activation = keys.activation("hidden_activation", Activation::GeluTanh)?;
    Ok((layer, norm))
}

/// A softcap; 0 where there is none.
///
/// # Errors
/// One that is negative or not finite.
pub(super) fn softcap(keys: &Keys<'_>, key: &str) -> Result<f32, ModelError> {
    Ok(keys.number(key, FloatRange::NOT_NEGATIVE)?.unwrap_or(0.0) as f32)
}
