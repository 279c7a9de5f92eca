//! What commands let their user say of how a language model is read.

use crate::generate::{CacheType, LanguageOptions};
use pumice_models::QUANTIZATIONS;
use pumice_types::Encoding;

/// Arguments of every command that runs a language model.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ReadingArgs {
    /// How the caches keep keys and values: f16 or f32
    #[arg(long, value_name = "TYPE", default_value = "f16")]
    pub kv: CacheType,
    /// Encode the matrices of a folder in this while they are loaded: q8_0, q6_k, q5_k, q4_k, q4_0, f16, bf16 or f32
    #[arg(long, value_name = "TYPE", value_parser = quantization)]
    pub quantize: Option<Encoding>,
    /// Pass over this key of the model's configuration, which nobody knows here; may be given several times
    #[arg(long, value_name = "K")]
    pub ignore_key: Vec<String>,
}

impl ReadingArgs {
    /// Options with what was said.
    pub(crate) fn options(&self) -> LanguageOptions {
        LanguageOptions::default().cache(self.kv).quantize(self.quantize).ignored_keys(&self.ignore_key)
    }
}

/// An encoding by its name.
pub(super) fn quantization(name: &str) -> Result<Encoding, String> {
    let found = QUANTIZATIONS.into_iter().find(|encoding| encoding.name() == name);
    found.ok_or_else(|| format!("known are {}", QUANTIZATIONS.map(Encoding::name).join(", ")))
}
