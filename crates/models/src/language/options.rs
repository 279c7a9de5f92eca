//! What a user may choose of a language model before it is read.

use crate::error::ModelError;
use crate::quantization;
use pumice_types::{DType, Encoding, Target};

/// Context that is planned for where the user names none.
pub const DEFAULT_CONTEXT: u64 = 2048;
/// The most tokens of a prompt that one run brings.
const MOST_NEW: u64 = 128;
/// The same on a GPU, whose tiles have work for all its units then: with bf16 weights prompts of 512 tokens were read
/// three times as fast as in pieces of 128 (2,048 wide, products in bf16, H200, 2026-11-30).
const MOST_NEW_ON_GPUS: u64 = 512;

/// Choices for a [`LanguageModel`](super::LanguageModel).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LanguageOptions {
    /// Tokens that the caches hold, at most what the model was trained for; otherwise that, and [`DEFAULT_CONTEXT`] at
    /// most.
    pub context: Option<u64>,
    /// Tokens that one run takes at most, of a prompt; otherwise 128, on a GPU 512 ([`LanguageOptions::suited_to`]), or
    /// as many as the caches hold. More take more scratch, and make a prompt faster on a GPU.
    pub max_new: Option<u64>,
    /// How keys and values are kept.
    pub cache: CacheType,
    /// Keys of the configuration, as the file calls them, that are passed over although nobody knows them here: without
    /// this they refuse the model, since they may change every value. A note tells of each.
    pub ignored_keys: Vec<String>,
    /// What the matrices of a folder are encoded in while they are loaded, one of
    /// [`QUANTIZATIONS`](crate::QUANTIZATIONS); otherwise they are as the folder has them. A GGUF file is refused: its
    /// matrices have their encodings.
    pub quantize: Option<Encoding>,
    /// Tokens of one run where `max_new` is none.
    suited_new: Option<u64>,
}

/// How the caches keep keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheType {
    /// In two bytes each: 5e-4 of the range of logits away from f32, at half the memory.
    #[default]
    F16,
    /// In four bytes each.
    F32,
}

impl CacheType {
    /// The types with their names.
    pub const ALL: [(&'static str, CacheType); 2] = [("f16", CacheType::F16), ("f32", CacheType::F32)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CacheType::F16 => "f16",
            CacheType::F32 => "f32",
        }
    }

    /// The type of a state that holds them.
    pub fn dtype(self) -> DType {
        match self {
            CacheType::F16 => DType::F16,
            CacheType::F32 => DType::F32,
        }
    }
}

impl std::str::FromStr for CacheType {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<CacheType, ModelError> {
        let found = CacheType::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, cache)| cache).ok_or_else(|| {
            let problem =
                format!("`{name}` is no type of caches: f16 and f32 are there, quantized ones are not");
            ModelError::Option { option: "kv", problem }
        })
    }
}

impl LanguageOptions {
    /// Tokens that the caches hold.
    #[must_use]
    pub fn context(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.context = tokens.into();
        self
    }

    /// Tokens that one run takes at most.
    #[must_use]
    pub fn max_new(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.max_new = tokens.into();
        self
    }

    /// What nobody chose is as it suits a device: pieces of a prompt are longer on GPUs.
    #[must_use]
    pub fn suited_to(mut self, target: &Target) -> Self {
        self.suited_new = (!target.features.cpu).then_some(MOST_NEW_ON_GPUS);
        self
    }

    /// How keys and values are kept.
    #[must_use]
    pub fn cache(mut self, cache: CacheType) -> Self {
        self.cache = cache;
        self
    }

    /// Keys of the configuration that are passed over although nobody knows them here.
    #[must_use]
    pub fn ignored_keys(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.ignored_keys = names.into_iter().map(Into::into).collect();
        self
    }

    /// What the matrices of a folder are encoded in while they are loaded.
    #[must_use]
    pub fn quantize(mut self, encoding: impl Into<Option<Encoding>>) -> Self {
        self.quantize = encoding.into();
        self
    }

    /// Refuses an encoding that is not written.
    pub(super) fn check_encoding(&self) -> Result<(), ModelError> {
        self.quantize.map_or(Ok(()), quantization::check)
    }

    /// Tokens that the caches of a model of this trained context hold.
    pub(crate) fn planned(&self, trained: u64) -> Result<u64, ModelError> {
        match self.context {
            None => Ok(trained.min(DEFAULT_CONTEXT)),
            Some(tokens) if (1..=trained).contains(&tokens) => Ok(tokens),
            Some(tokens) => {
                let problem =
                    format!("{tokens} is not a number from 1 to {trained}, what the model was trained for");
                Err(ModelError::Option { option: "context", problem })
            }
        }
    }

    /// Tokens of one run over caches of this capacity.
    pub(crate) fn new_tokens(&self, capacity: u64) -> Result<u64, ModelError> {
        match self.max_new {
            None => Ok(capacity.min(self.suited_new.unwrap_or(MOST_NEW))),
            Some(tokens) if (1..=capacity).contains(&tokens) => Ok(tokens),
            Some(tokens) => {
                let problem = format!("{tokens} is not a number from 1 to {capacity}, what the caches hold");
                Err(ModelError::Option { option: "max_new", problem })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_prompt_suit_the_device() {
        let of = |options: &LanguageOptions, capacity| options.new_tokens(capacity).expect("a number");
        let asked = LanguageOptions::default();
        let [gpu, cpu] = [Target::h200(), Target::lavapipe()].map(|target| asked.clone().suited_to(&target));
        assert_eq!([&asked, &gpu, &cpu].map(|options| of(options, 2048)), [128, 512, 128]);
        assert_eq!([&asked, &gpu, &cpu].map(|options| of(options, 100)), [100; 3]);
        assert_eq!(of(&gpu.max_new(64), 2048), 64);
    }
}
