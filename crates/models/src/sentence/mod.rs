//! What sentence-transformers puts around an encoder: modules.json, the pooling, the length limit.
//!
//! `modules` says which parts there are and where, `pooling` reads 1_Pooling/config.json, `limit` finds the longest
//! text; [`SentenceSpec`] is the sum of them. Both layouts are read: the one of versions up to 5 and that of 6.

mod limit;
mod modules;
mod pooling;

pub use modules::Modules;
pub use pooling::Pooling;

use crate::config::EncoderConfig;
use crate::config::fields::Fields;
use crate::error::{ModelError, Note};
use pumice_import::ModelFolder;

/// No configuration file in use comes near this.
pub(crate) const CONFIG_LIMIT: u64 = 4 << 20;

/// How texts become one vector each.
#[derive(Clone, Debug, PartialEq)]
pub struct SentenceSpec {
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Whether the result has length 1.
    pub normalize: bool,
    /// Tokens of the longest text, specials included; what is longer is cut.
    pub max_tokens: u64,
    /// Whether the user chose that limit, and not the model.
    pub limit_chosen: bool,
    /// Whether texts are lowercased before the tokenizer sees them.
    pub lowercase: bool,
    /// What is put before each text.
    pub prompt: String,
}

/// What a user may choose instead of what the folder says.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SentenceOverrides {
    /// Another pooling; needed where the folder has none.
    pub pooling: Option<Pooling>,
    /// Whether to normalize, whatever modules.json says.
    pub normalize: Option<bool>,
    /// Another length limit, at most that of the position table.
    pub max_tokens: Option<u64>,
}

impl SentenceOverrides {
    /// Another pooling than the folder's.
    #[must_use]
    pub fn pooling(mut self, pooling: impl Into<Option<Pooling>>) -> Self {
        self.pooling = pooling.into();
        self
    }

    /// Whether to normalize, whatever modules.json says.
    #[must_use]
    pub fn normalize(mut self, normalize: impl Into<Option<bool>>) -> Self {
        self.normalize = normalize.into();
        self
    }

    /// Another length limit, at most that of the position table.
    #[must_use]
    pub fn max_tokens(mut self, tokens: impl Into<Option<u64>>) -> Self {
        self.max_tokens = tokens.into();
        self
    }
}

impl SentenceSpec {
    /// Reads what is around the encoder in a folder whose parts are known.
    pub fn read(
        root: &ModelFolder,
        modules: &Modules,
        config: &EncoderConfig,
        overrides: &SentenceOverrides,
        notes: &mut Vec<Note>,
    ) -> Result<SentenceSpec, ModelError> {
        let pooling = match overrides.pooling {
            Some(pooling) => pooling,
            None => pooling::read(root, modules, config)?,
        };
        let (limit, lowercase) = limit::read(&modules.transformer, config, notes)?;
        let max_tokens = match overrides.max_tokens {
            None => limit,
            Some(n) if (1..=config.max_tokens()).contains(&n) => n,
            Some(n) => {
                let problem =
                    format!("{n} is outside 1..={}, the positions of the model", config.max_tokens());
                return Err(ModelError::Option { option: "max_tokens", problem });
            }
        };
        Ok(SentenceSpec {
            pooling,
            normalize: overrides.normalize.unwrap_or(modules.normalize),
            max_tokens,
            limit_chosen: overrides.max_tokens.is_some(),
            lowercase,
            prompt: prompt(root)?,
        })
    }
}

/// The prompt that is used where the caller names none.
fn prompt(root: &ModelFolder) -> Result<String, ModelError> {
    const FILE: &str = "config_sentence_transformers.json";
    let Some(text) = root.read_text(FILE, CONFIG_LIMIT)? else { return Ok(String::new()) };
    let fields = Fields::parse(&root.file(FILE), &text)?;
    let Some(name) = fields.text("default_prompt_name")? else { return Ok(String::new()) };
    let prompts = fields.get("prompts").cloned().unwrap_or_default();
    match prompts.get(name).and_then(|p| p.as_str()) {
        Some(prompt) => Ok(prompt.to_owned()),
        None => {
            let problem = format!("names the prompt \"{name}\", which `prompts` does not have");
            Err(fields.wrong("default_prompt_name", problem, "get the file again, or remove the field"))
        }
    }
}

/// Both readers of this module that take text; see [`crate::fuzz`].
pub(crate) fn fuzz_modules(text: &str) {
    let file = std::path::Path::new("fuzzed.json");
    let _ = modules::modules(file, text);
    if let Ok(fields) = Fields::parse(file, text) {
        let _ = pooling::chosen(&fields);
    }
}
