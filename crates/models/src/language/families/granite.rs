//! Granite 3, dense (IBM 2024): Llama with multipliers of embeddings, of what each part adds, of attention and of
//! logits.

use crate::decoder::{DecoderConfig, Norm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, Gguf, eps, gguf, read_attention_bias};
use crate::language::keys::Keys;
use crate::language::rotary::Style;
use pumice_ir::FloatRange;

pub(super) const FAMILY: Family = Family {
    name: "Granite",
    model_types: &["granite"],
    describe,
    names: &COMMON,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { keys: FACTORS, ..gguf("granite", true) }),
};

const FACTORS: &[(&str, &str)] = &[
    ("attention.scale", "attention_multiplier"),
    ("residual_scale", "residual_multiplier"),
    ("embedding_scale", "embedding_multiplier"),
    ("logit_scale", "logits_scaling"),
];

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let eps = eps(keys, "rms_norm_eps")?;
    let factor = |key: &str| -> Result<f32, ModelError> {
        Ok(keys.number(key, FloatRange::POSITIVE)?.unwrap_or(1.0) as f32)
    };
    let mut layer = basics.llama(keys, Style::HALVES, eps)?;
    read_attention_bias(keys, &mut layer)?;
    layer.feed.bias = keys.flag("mlp_bias", false)?;
    layer.attention.scale = Some(factor("attention_multiplier")?);
    layer.residual_scale = factor("residual_multiplier")?;
    let mut model = basics.uniform(layer, Norm::rms(eps), keys.flag("tie_word_embeddings", false)?);
    model.embedding_scale = factor("embedding_multiplier")?;
    model.logit_scale = 1.0 / factor("logits_scaling")?;
    Ok(model)
}
