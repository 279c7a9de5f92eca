//! Language models of sixteen families, in Hugging Face folders (`config.json` and safetensors) and in GGUF files.
//!
//! In: a folder or a file. Out: a [`DecoderConfig`], and a graph whose params have the names and encodings of its
//! tensors. What a family is stands in one file under `families`: how its configuration is read, what its tensors are
//! called. All else is here and in [`decoder`](crate::decoder). A key or a tensor that nobody reads is refused by name.

mod families;
mod family;
mod file;
mod fingerprint;
mod folder;
mod gguf;
mod ignored;
mod keys;
mod model;
mod options;
mod quantized;
mod roles;
mod rotary;
mod source;
mod suggested;
mod unapplied;
mod vocabulary;
mod weights;
mod written;

pub use fingerprint::Fingerprint;
pub use model::LanguageModel;
pub use options::{CacheType, DEFAULT_CONTEXT, LanguageOptions};
pub use suggested::SuggestedSampling;
pub(crate) use written::Written;

use self::family::{Basics, Family};
use self::ignored::IGNORED;
use self::keys::{Configuration, Keys};
use self::model::Read;
use crate::decoder::DecoderConfig;
use crate::error::{ModelError, Note};
use pumice_import::ImportError;
use std::path::Path;

const CONFIG: &str = "config.json";

impl Read {
    /// Of a folder's configuration.
    fn of_config(file: &Path, text: &str, options: &LanguageOptions) -> Result<Read, ModelError> {
        let map = serde_json::from_str(text)
            .map_err(|source| ImportError::Json { path: file.to_owned(), source })?;
        let configuration = Configuration { map, own: Vec::new(), is_strict: false };
        let keys = Keys::new(file, &configuration, &options.ignored_keys);
        let family = family(&keys)?;
        refuse_quantized(&keys)?;
        keys.expect_flag("is_encoder_decoder", false)?;
        keys.expect_flag("add_cross_attention", false)?;
        Read::of(family, &keys, options, |_| {})
    }

    /// Of settings of a family; `adjust` changes what a file has otherwise than a folder.
    fn of(
        family: &'static Family,
        keys: &Keys<'_>,
        options: &LanguageOptions,
        adjust: impl Fn(&mut DecoderConfig),
    ) -> Result<Read, ModelError> {
        let basics = Basics::read(keys, family.sizes, options)?;
        let mut config = (family.describe)(&basics, keys)?;
        adjust(&mut config);
        let idle = keys.refuse_others(&[IGNORED, family.ignored].concat())?;
        let idle = idle.into_iter().map(|key| format!("`{key}` is not known here, and switches nothing on"));
        let told = keys.ignored()?;
        let told = told.into_iter().map(|(key, value)| {
            format!("`{key}` is {value} and not known here: it is passed over, as was asked for, and values may be wrong")
        });
        let notes = idle.chain(told).map(Note).collect();
        Ok(Read { family, config, trained_context: basics.trained, notes })
    }
}

/// The family whose configurations have this `model_type`.
pub(crate) fn family_of(model_type: &str) -> Option<&'static Family> {
    families::ALL.iter().find(|family| family.model_types.contains(&model_type))
}

fn family(keys: &Keys<'_>) -> Result<&'static Family, ModelError> {
    let Some(model_type) = keys.text("model_type")? else {
        return Err(keys.wrong("model_type", "is missing", "give the folder of a language model"));
    };
    family_of(model_type).ok_or_else(|| {
        let known: Vec<&str> = families::ALL.iter().flat_map(|family| family.model_types).copied().collect();
        let remedy = match crate::config::is_encoder(model_type) {
            true => "it is of a sentence encoder: `Embedder` runs it, and `pumice embed`".to_owned(),
            false => format!("models of these types can be run: {}", known.join(", ")),
        };
        keys.wrong("model_type", format!("is \"{model_type}\""), &remedy)
    })
}

/// Weights that were quantized by another program mean something else than their dtype says.
fn refuse_quantized(keys: &Keys<'_>) -> Result<(), ModelError> {
    let Some(settings) = keys.object("quantization_config")? else { return Ok(()) };
    let method = settings.text("quant_method")?.unwrap_or("a method that it does not name");
    let remedy = "take the model's weights as they were before they were quantized, or a GGUF file";
    Err(keys.wrong("quantization_config", format!("says that the weights are quantized by {method}"), remedy))
}

/// Reads the bytes as a `config.json` of a language model.
pub(crate) fn fuzz_language_config(text: &str) {
    if let Ok(read) = Read::of_config(Path::new(CONFIG), text, &LanguageOptions::default()) {
        let trained = read.trained_context;
        assert!(!read.config.layers.is_empty() && read.config.capacity <= trained);
    }
}
