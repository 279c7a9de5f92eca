//! Tokens that a folder adds to those of its `tokenizer.model`: `added_tokens_decoder` of `tokenizer_config.json`, by
//! id and with what they are, and `added_tokens.json`, by text. A `tokenizer.json` has its own.

use super::error::TextError;
use super::vocabulary::MOST_TOKENS;
use serde_json::{Map, Value};
use std::path::Path;

/// A token that a folder adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedToken {
    /// Its id.
    pub id: u32,
    /// Its text.
    pub text: String,
    /// Whether it is structure, as the beginning of a turn; otherwise it is text that is one token wherever it stands.
    pub special: bool,
    /// Whether it takes the spaces after it along.
    pub(super) takes_spaces: bool,
    /// What it asks for and is not done here.
    unsupported: Option<&'static str>,
    /// The file.
    file: String,
    /// Where it stands there.
    key: String,
}

/// What to do about a file that cannot be read.
pub(super) const DAMAGED: &str = "the file is damaged or of another kind: get it again";
/// What to do about files that contradict each other.
pub(super) const ONE_MODEL: &str = "take all files from one model";

impl AddedToken {
    /// An error about it.
    pub(super) fn wrong(&self, problem: &str) -> TextError {
        TextError::TokenizerFile {
            file: self.file.clone(),
            problem: format!("`{}` is token {}, `{}`, {problem}", self.key, self.id, self.text),
            remedy: ONE_MODEL,
        }
    }

    /// Refuses what is not done here.
    pub(super) fn check(&self) -> Result<(), TextError> {
        match self.unsupported {
            None => Ok(()),
            Some(flag) => {
                Err(self.wrong(&format!("with `{flag}`, which is not supported without tokenizer.json")))
            }
        }
    }
}

/// Those of an `added_tokens_decoder`.
///
/// # Errors
/// Ids that are none, tokens without a text, flags that are neither true nor false.
pub(super) fn decoder(file: &Path, json: &Value) -> Result<Vec<AddedToken>, TextError> {
    const KEY: &str = "added_tokens_decoder";
    let wrong =
        |problem| TextError::TokenizerFile { file: file.display().to_string(), problem, remedy: DAMAGED };
    let object = match json {
        Value::Null => return Ok(Vec::new()),
        other => other.as_object().ok_or_else(|| wrong(format!("`{KEY}` is no object")))?,
    };
    let one = |(id, token): (&String, &Value)| {
        let key = format!("{KEY}.{id}");
        let flag = |name: &str| match &token[name] {
            Value::Null => Ok(false),
            Value::Bool(is_so) => Ok(*is_so),
            _ => Err(wrong(format!("`{key}.{name}` is neither true nor false"))),
        };
        let text = token["content"].as_str().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| wrong(format!("`{key}` has no text under `content`")))?.to_owned();
        let id = id.parse().ok().filter(|&id: &u32| (id as usize) < MOST_TOKENS);
        let id = id.ok_or_else(|| wrong(format!("`{key}` is no token id")))?;
        let unsupported = [("lstrip", flag("lstrip")?), ("single_word", flag("single_word")?)];
        Ok(AddedToken {
            id,
            text,
            special: flag("special")?,
            takes_spaces: flag("rstrip")?,
            unsupported: unsupported.into_iter().find(|(_, is_so)| *is_so).map(|(name, _)| name),
            file: file.display().to_string(),
            key,
        })
    };
    object.iter().map(one).collect()
}

/// Those of an `added_tokens.json`; `is_special` tells which texts are structure.
///
/// # Errors
/// A text that is no JSON object of ids by text.
pub(super) fn by_text(
    file: &Path,
    text: &str,
    is_special: impl Fn(&str) -> bool,
) -> Result<Vec<AddedToken>, TextError> {
    let wrong =
        |problem| TextError::TokenizerFile { file: file.display().to_string(), problem, remedy: DAMAGED };
    let object: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| wrong(format!("is no JSON object: {e}")))?;
    let one = |(text, id): (String, Value)| {
        let found = id.as_u64().filter(|&id| id < MOST_TOKENS as u64).filter(|_| !text.is_empty());
        let found = found.ok_or_else(|| wrong(format!("`{text}` is {id}, which is no token id")))?;
        Ok(AddedToken {
            id: found as u32,
            special: is_special(&text),
            takes_spaces: false,
            unsupported: None,
            file: file.display().to_string(),
            key: text.clone(),
            text,
        })
    };
    object.into_iter().map(one).collect()
}
