//! Command R (Cohere 2024): both parts of a layer read one layer norm without bias, neighbours rotate, logits have a
//! factor.

use crate::decoder::{DecoderConfig, Norm, NormOver, QueryKeyNorm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, Gguf, eps, gguf, read_attention_bias};
use crate::language::keys::Keys;
use crate::language::rotary::Style;
use pumice_ir::FloatRange;

pub(super) const FAMILY: Family = Family {
    name: "Command R",
    model_types: &["cohere"],
    describe,
    names: &COMMON,
    ignored: &[("model_max_length", "the context of the model counts")],
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { keys: KEYS, flags: FLAGS, ..gguf("command-r", true) }),
};

const KEYS: &[(&str, &str)] =
    &[("attention.layer_norm_epsilon", "layer_norm_eps"), ("logit_scale", "logit_scale")];
const FLAGS: &[(&str, &str)] = &[("blk.0.attn_q_norm.weight", "use_qk_norm")];

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let norm = Norm::layer(eps(keys, "layer_norm_eps")?, false);
    let mut layer = basics.llama(keys, Style { theta: 500_000.0, ..Style::PAIRS }, norm.eps)?;
    layer.before_attention = Some(norm);
    layer.before_feed = None;
    layer.parallel = true;
    read_attention_bias(keys, &mut layer)?;
    if keys.flag("use_qk_norm", false)? {
        layer.attention.query_key_norm = Some(QueryKeyNorm { norm, over: NormOver::OwnHead });
    }
    let mut model = basics.uniform(layer, norm, keys.flag("tie_word_embeddings", true)?);
    model.logit_scale = keys.number("logit_scale", FloatRange::POSITIVE)?.unwrap_or(0.0625) as f32;
    Ok(model)
}
