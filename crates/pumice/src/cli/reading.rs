//! What commands let their user say of how a language model is read.

use super::CommandError;
use crate::generate::{CacheType, LanguageOptions};
use pumice_models::QUANTIZATIONS;
use pumice_types::Encoding;
use std::path::Path;

/// What options of encoders are for.
pub(super) const ENCODERS: &str = "sentence encoders";
/// Texts in one run of an encoder, where nobody says how many.
pub(super) const ENCODER_BATCH: u64 = 32;

/// Arguments of every command that runs a language model.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ReadingArgs {
    /// How the caches keep keys and values: f16 or f32 [default: f16]
    #[arg(long, value_name = "TYPE")]
    pub kv: Option<CacheType>,
    /// Encode the matrices of a folder in this while they are loaded: q8_0, q6_k, q5_k, q4_k, q4_0, f16, bf16 or f32
    #[arg(long, value_name = "TYPE", value_parser = quantization)]
    pub quantize: Option<Encoding>,
    /// Pass over this key of the model's configuration, which nobody knows here; may be given several times
    #[arg(long, value_name = "K")]
    pub ignore_key: Vec<String>,
}

impl ReadingArgs {
    /// How the caches keep keys and values.
    pub(crate) fn cache(&self) -> CacheType {
        self.kv.unwrap_or_default()
    }

    /// Options with what was said.
    pub(crate) fn options(&self) -> LanguageOptions {
        LanguageOptions::default().cache(self.cache()).quantize(self.quantize).ignored_keys(&self.ignore_key)
    }

    /// Refuses what was given, and a context, where the model at `path` is an encoder.
    pub(super) fn refuse_for_encoder(&self, path: &Path, context: Option<u64>) -> Result<(), CommandError> {
        let options = [
            ("--context", context.is_some()),
            ("--kv", self.kv.is_some()),
            ("--quantize", self.quantize.is_some()),
            ("--ignore-key", !self.ignore_key.is_empty()),
        ];
        refuse(path, &options, "language models")
    }
}

/// Refuses the first option that was given, since all of them are for other models than the one at `path`.
pub(super) fn refuse(path: &Path, options: &[(&'static str, bool)], only: &str) -> Result<(), CommandError> {
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let told = format!("{option} is for {only}, which {} is not", path.display());
            Err(CommandError::Usage(told))
        }
        None => Ok(()),
    }
}

/// An encoding by its name.
pub(super) fn quantization(name: &str) -> Result<Encoding, String> {
    let found = QUANTIZATIONS.into_iter().find(|encoding| encoding.name() == name);
    found.ok_or_else(|| format!("known are {}", QUANTIZATIONS.map(Encoding::name).join(", ")))
}
