//! OLMo 2 (OLMo Team 2024): norms after each part instead of before, and norms over all queries and all keys.

use crate::decoder::{DecoderConfig, Norm, NormOver, QueryKeyNorm};
use crate::error::ModelError;
use crate::language::family::{Basics, COMMON, COMMON_SIZES, Family, eps, gguf, read_attention_bias};
use crate::language::keys::Keys;
use crate::language::rotary::Style;

pub(super) const FAMILY: Family = Family {
    name: "OLMo 2",
    model_types: &["olmo2"],
    describe,
    names: &COMMON,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: Some(gguf("olmo2", false)),
};

fn describe(basics: &Basics, keys: &Keys<'_>) -> Result<DecoderConfig, ModelError> {
    let norm = Norm::rms(eps(keys, "rms_norm_eps")?);
    let mut layer = basics.llama(keys, Style::HALVES, norm.eps)?;
    layer.before_attention = None;
    layer.before_feed = None;
    layer.after_attention = Some(norm);
    layer.after_feed = Some(norm);
    read_attention_bias(keys, &mut layer)?;
    layer.attention.query_key_norm = Some(QueryKeyNorm { norm, over: NormOver::All });
    Ok(basics.uniform(layer, norm, keys.flag("tie_word_embeddings", false)?))
}
