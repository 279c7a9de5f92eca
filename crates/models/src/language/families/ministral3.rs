//! Ministral 3 (Mistral AI 2025): Mistral whose queries grow with their position, which its rotary settings say.

use crate::language::family::{COMMON, COMMON_SIZES, Family, gguf};

pub(super) const FAMILY: Family = Family {
    name: "Ministral 3",
    model_types: &["ministral3"],
    describe: super::mistral::describe,
    names: &COMMON,
    ignored: &[],
    sizes: &COMMON_SIZES,
    gguf: gguf("", false),
};
