//! `1_Pooling/config.json`: how token vectors become one.

use crate::config::EncoderConfig;
use crate::config::fields::Fields;
use crate::error::ModelError;
use crate::sentence::{CONFIG_LIMIT, Modules};
use pumice_import::{ImportError, ModelFolder};
use std::fmt;
use std::str::FromStr;

/// How token vectors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over the text's tokens, specials included.
    Mean,
    /// The first token's vector.
    Cls,
    /// The maximum of each component over the text's tokens.
    Max,
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pooling::Mean => "mean",
            Pooling::Cls => "cls",
            Pooling::Max => "max",
        })
    }
}

impl FromStr for Pooling {
    type Err = String;
    fn from_str(name: &str) -> Result<Pooling, String> {
        match name {
            "mean" => Ok(Pooling::Mean),
            "cls" => Ok(Pooling::Cls),
            "max" => Ok(Pooling::Max),
            other => Err(format!("`{other}` is not a pooling; mean, cls and max are")),
        }
    }
}

/// The truth-valued fields of the older layout, with what they choose.
const FLAGS: [(&str, Option<Pooling>); 6] = [
    ("pooling_mode_cls_token", Some(Pooling::Cls)),
    ("pooling_mode_mean_tokens", Some(Pooling::Mean)),
    ("pooling_mode_max_tokens", Some(Pooling::Max)),
    ("pooling_mode_mean_sqrt_len_tokens", None),
    ("pooling_mode_weightedmean_tokens", None),
    ("pooling_mode_lasttoken", None),
];

/// Reads the pooling's configuration and compares it with the encoder's.
pub fn read(root: &ModelFolder, modules: &Modules, config: &EncoderConfig) -> Result<Pooling, ModelError> {
    let missing = |folder: Option<&ModelFolder>| {
        let path = folder.map_or_else(|| root.file("1_Pooling/config.json"), |f| f.file("config.json"));
        let remedy =
            "get the whole folder of the sentence encoder, or choose a pooling yourself: mean, cls or max";
        ModelError::Import(ImportError::Missing { path, remedy: remedy.to_owned() })
    };
    let folder = modules.pooling.as_ref().ok_or_else(|| missing(None))?;
    let text = folder.read_text("config.json", CONFIG_LIMIT)?.ok_or_else(|| missing(Some(folder)))?;
    let fields = Fields::parse(&folder.file("config.json"), &text)?;
    for field in ["word_embedding_dimension", "embedding_dimension"] {
        match fields.integer(field, 0..=u64::MAX)? {
            Some(n) if n != config.hidden => {
                let problem = format!("is {n}, the encoder's width in config.json is {}", config.hidden);
                return Err(fields.wrong(field, problem, "take both files from one model"));
            }
            _ => {}
        }
    }
    if fields.get("include_prompt").is_some_and(|v| v == false) {
        let remedy = "models whose pooling leaves the prompt out cannot be run";
        return Err(fields.wrong("include_prompt", "is false", remedy));
    }
    chosen(&fields)
}

/// The one pooling that the fields choose.
pub(super) fn chosen(fields: &Fields) -> Result<Pooling, ModelError> {
    const REMEDY: &str = "mean, cls and max are supported, one at a time";
    if fields.get("pooling_mode").is_some() {
        let name = fields.required_text("pooling_mode")?;
        return name.parse().map_err(|_| fields.wrong("pooling_mode", format!("is \"{name}\""), REMEDY));
    }
    let mut set = Vec::new();
    for (field, pooling) in FLAGS {
        if fields.flag(field)? {
            set.push((field, pooling));
        }
    }
    match set.as_slice() {
        [(_, Some(pooling))] => Ok(*pooling),
        [(field, None)] => Err(fields.wrong(field, "is true", REMEDY)),
        [] => {
            Err(fields.wrong("pooling_mode_mean_tokens", "and its siblings are all false or missing", REMEDY))
        }
        [.., (field, _)] => Err(fields.wrong(field, "is true beside another pooling", REMEDY)),
    }
}
