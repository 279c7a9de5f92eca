//! The families, one file each.

mod cohere;
mod gemma2;
mod gemma3;
mod glm4;
mod gpt2;
mod granite;
mod llama;
mod ministral3;
mod mistral;
mod olmo2;
mod phi;
mod phi3;
mod qwen2;
mod qwen3;
mod smollm3;
mod stablelm;
mod starcoder2;

use super::family::{Family, Gguf};

/// All of them.
pub(super) const ALL: &[Family] = &[
    llama::FAMILY,
    mistral::FAMILY,
    ministral3::FAMILY,
    qwen2::FAMILY,
    qwen3::FAMILY,
    gemma2::FAMILY,
    gemma3::FAMILY,
    phi::FAMILY,
    phi3::FAMILY,
    smollm3::FAMILY,
    olmo2::FAMILY,
    granite::FAMILY,
    stablelm::FAMILY,
    glm4::FAMILY,
    cohere::FAMILY,
    starcoder2::FAMILY,
    gpt2::FAMILY,
];

/// Those that have GGUF files of their own.
pub(super) fn of_files() -> impl Iterator<Item = (&'static Family, &'static Gguf)> {
    ALL.iter().filter_map(|family| Some((family, family.gguf.as_ref()?)))
}
