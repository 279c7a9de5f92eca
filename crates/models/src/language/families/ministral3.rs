//! Ministral 3 (Mistral AI 2025): Mistral whose queries grow with their position, which its rotary settings say.

use crate::language::family::{COMMON, COMMON_SIZES, Family, Gguf, gguf};

pub(super) const FAMILY: Family = Family {
    name: "Ministral 3",
    model_types: &["ministral3"],
    describe: super::mistral::describe,
    names: &COMMON,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: Some(Gguf { rotary: ROTARY, ..gguf("mistral3", true) }),
};

const ROTARY: &[(&str, &str)] = &[
    ("rope.scaling.yarn_log_multiplier", "mscale_all_dim"),
    ("attention.temperature_scale", "llama_4_scaling_beta"),
];
