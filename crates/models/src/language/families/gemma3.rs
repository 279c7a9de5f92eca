//! Gemma 3 (Gemma Team 2025), its text model: Gemma 2 with norms of queries and keys, and rotary settings of their own
//! for layers with a window.

use crate::decoder::{DecoderConfig, Layer, LayerWeight, NormOver, QueryKeyNorm, Rotation};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, Gguf, Names, eps, gguf};
use crate::language::keys::Keys;
use crate::language::rotary::{Style, rotary, rotary_of_kind};
use pumice_ir::FloatRange;

pub(super) const FAMILY: Family = Family {
    name: "Gemma 3",
    model_types: &["gemma3_text"],
    describe,
    names: &NAMES,
    ignored: IGNORED,
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { keys: KEYS, ..gguf("gemma3", false) }),
};

const IGNORED: &[(&str, &str)] = &[
    ("_sliding_window_pattern", "layer_types say it"),
    ("use_bidirectional_attention", "texts are read in one direction"),
];

const KEYS: &[(&str, &str)] = &[
    ("rope.freq_base_swa", "rope_local_base_freq"),
    ("attn_logit_softcapping", "attn_logit_softcapping"),
    ("final_logit_softcapping", "final_logit_softcapping"),
];

/// Layers of the 27B model, whose products of queries and keys have another factor, which GGUF files do not say.
const LAYERS_OF_27B: usize = 62;

const NAMES: Names = Names { of_layer: &[(LayerWeight::FeedNorm, "pre_feedforward_layernorm")], ..COMMON };

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    keys.expect_flag("use_bidirectional_attention", false)?;
    let (local, global) = rotations(basics, keys)?;
    let heads = (basics.heads, basics.kv_heads, basics.width);
    let layer = Layer::llama(heads, global.clone(), basics.feed, eps(keys, "rms_norm_eps")?);
    let (mut layer, norm) = super::gemma2::layer(basics, keys, layer, LAYERS_OF_27B)?;
    layer.attention.query_key_norm = Some(QueryKeyNorm { norm, over: NormOver::Head });
    let pattern = keys.count_if_any("sliding_window_pattern")?.unwrap_or(6) as usize;
    let is_local = |i: usize| !(i + 1).is_multiple_of(pattern);
    let (window, kinds) = (keys.count_if_any("sliding_window")?, basics.kinds(keys, is_local)?);
    let layers = kinds.into_iter().map(|is_local| {
        let mut layer = layer.clone();
        layer.attention.window = window.filter(|_| is_local);
        layer.attention.rotary = Some(if is_local { local.clone() } else { global.clone() });
        layer
    });
    let mut model = basics.of_layers(layers.collect(), norm, keys.flag("tie_word_embeddings", true)?);
    model.embedding_scale = (basics.hidden as f32).sqrt();
    model.logit_softcap = super::gemma2::softcap(keys, "final_logit_softcapping")?;
    Ok(model)
}

/// The rotations of layers with a window, and of those without.
fn rotations(basics: &Basics, keys: &Keys<'_>) -> Result<(Rotation, Rotation), ModelError> {
    let sizes = basics.rotary_sizes();
    let [local, global] = [("sliding_attention", LOCAL), ("full_attention", GLOBAL)]
        .map(|(kind, style)| rotary_of_kind(keys, kind, sizes, style));
    if let (Some(local), Some(global)) = (local?, global?) {
        return Ok((local.rotation, global.rotation));
    }
    let theta = keys.number("rope_local_base_freq", FloatRange::POSITIVE)?.unwrap_or(LOCAL.theta);
    let global = rotary(keys, sizes, GLOBAL)?.rotation;
    Ok((Rotation::new(theta as f32, basics.width, false), global))
}

const LOCAL: Style = Style::HALVES;
const GLOBAL: Style = Style { theta: 1_000_000.0, ..Style::HALVES };
