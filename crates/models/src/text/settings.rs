//! What a folder says about its tokenizer beside the tokenizer's own file: `tokenizer_config.json` and
//! `added_tokens.json`.

use super::added::{self, AddedToken};
use super::error::TextError;
use serde_json::Value;
use std::path::Path;

/// The keys of `tokenizer_config.json` that ids depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderSettings {
    /// `add_bos_token`: whether a prompt begins with the token that begins a text. Without, the tokenizer's file says.
    pub add_bos_token: Option<bool>,
    /// `add_eos_token`: whether a prompt ends with the token that ends a text. Without, the tokenizer's file says.
    pub add_eos_token: Option<bool>,
    /// `bos_token`: the text of the token that begins a text.
    pub bos: Option<String>,
    /// `eos_token`: the text of the token that ends a text.
    pub eos: Option<String>,
    /// The texts of all tokens that it names for a use of their own, as `pad_token` and `additional_special_tokens`.
    pub specials: Vec<String>,
    /// Tokens that are added to those of a `tokenizer.model`.
    pub added: Vec<AddedToken>,
}

/// Keys of a token with a use of its own, and of several.
const SPECIALS: [&str; 9] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "pad_token",
    "sep_token",
    "cls_token",
    "mask_token",
    "additional_special_tokens",
    "extra_special_tokens",
];

impl FolderSettings {
    /// Reads the text of a `tokenizer_config.json`; `file` names it in messages.
    ///
    /// # Errors
    /// A text that is no JSON, and keys of another type than they have.
    pub fn from_json(file: &Path, text: &str) -> Result<FolderSettings, TextError> {
        let remedy = "the file is damaged or of another kind: get it again";
        let wrong = |problem| TextError::TokenizerFile { file: file.display().to_string(), problem, remedy };
        let json: Value = serde_json::from_str(text).map_err(|e| wrong(format!("is no JSON: {e}")))?;
        let truth = |key: &str| match &json[key] {
            Value::Null => Ok(None),
            Value::Bool(is_so) => Ok(Some(*is_so)),
            _ => Err(wrong(format!("`{key}` is neither true nor false"))),
        };
        let token = |key: &str| match &json[key] {
            Value::Null => Ok(None),
            value => text_of(value).map(Some).ok_or_else(|| wrong(format!("`{key}` is no token"))),
        };
        let named = |key: &&str| match &json[key] {
            Value::Array(list) => list.iter().filter_map(text_of).collect(),
            one => text_of(one).into_iter().collect::<Vec<String>>(),
        };
        Ok(FolderSettings {
            add_bos_token: truth("add_bos_token")?,
            add_eos_token: truth("add_eos_token")?,
            bos: token("bos_token")?,
            eos: token("eos_token")?,
            specials: SPECIALS.iter().flat_map(named).collect(),
            added: added::decoder(file, &json["added_tokens_decoder"])?,
        })
    }

    /// With the tokens of an `added_tokens.json` that are not among those of the `tokenizer_config.json`; `file` names
    /// it in messages.
    ///
    /// # Errors
    /// A text that is no JSON object of ids by text.
    pub fn with_added_tokens(mut self, file: &Path, text: &str) -> Result<FolderSettings, TextError> {
        let others = added::by_text(file, text, |text| self.specials.iter().any(|special| special == text))?;
        let known =
            |token: &AddedToken| self.added.iter().any(|own| (own.id, &own.text) == (token.id, &token.text));
        let new: Vec<AddedToken> = others.into_iter().filter(|token| !known(token)).collect();
        self.added.extend(new);
        Ok(self)
    }
}

/// A token is its text, or an object that has it as `content`.
fn text_of(token: &Value) -> Option<String> {
    token.as_str().or_else(|| token["content"].as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::FolderSettings;
    use std::path::Path;

    #[test]
    fn settings_are_read_and_wrong_ones_refused() {
        let read = |text: &str| FolderSettings::from_json(Path::new("tokenizer_config.json"), text);
        let settings =
            read(r#"{"add_bos_token": true, "bos_token": {"content": "<s>"}, "eos_token": "</s>"}"#);
        let settings = settings.expect("settings");
        assert_eq!((settings.add_bos_token, settings.add_eos_token), (Some(true), None));
        assert_eq!((settings.bos.as_deref(), settings.eos.as_deref()), (Some("<s>"), Some("</s>")));
        assert_eq!(read("{}"), Ok(FolderSettings::default()));
        for text in ["", "[", r#"{"bos_token": 1}"#, r#"{"add_bos_token": 1}"#] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains("tokenizer_config.json") && error.contains("get it again"), "{error}");
        }
    }
}
