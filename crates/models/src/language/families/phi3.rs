//! Phi 3 and 4 (Abdin et al. 2024): Llama with one matrix for queries, keys and values, one for gate and feed-forward
//! part, a window, and LongRoPE for long contexts.

use crate::decoder::{DecoderConfig, Norm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, eps, gguf};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "Phi 3",
    model_types: &["phi3"],
    describe,
    names: &COMMON,
    ignored: IGNORED,
    sizes: &COMMON_SIZES,
    gguf: Some(gguf("phi3", false)),
};

const IGNORED: &[(&str, &str)] = &[
    ("resid_pdrop", "training"),
    ("embd_pdrop", "training"),
    ("original_max_position_embeddings", "read with long contexts alone"),
];

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    for bias in ["attention_bias", "mlp_bias", "lm_head_bias"] {
        keys.expect_flag(bias, false)?;
    }
    // Published files have 1. Their names say what would be otherwise: which layers see all, how positions stretch.
    keys.expect_one("full_attn_mod")?;
    keys.expect_one("interpolate_factor")?;
    let eps = eps(keys, "rms_norm_eps")?;
    let mut layer = basics.llama(keys, Style::HALVES, eps)?;
    layer.attention.window = keys.count_if_any("sliding_window")?;
    layer.attention.fused = true;
    layer.feed.fused = true;
    Ok(basics.uniform(layer, Norm::rms(eps), keys.flag("tie_word_embeddings", false)?))
}
