//! What a folder says about its tokenizer beside the tokenizer's own file: `tokenizer_config.json`.

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
}

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
        // A token is its text, or an object that has it as `content`.
        let token = |key: &str| match &json[key] {
            Value::Null => Ok(None),
            Value::String(token) => Ok(Some(token.clone())),
            object => match &object["content"] {
                Value::String(token) => Ok(Some(token.clone())),
                _ => Err(wrong(format!("`{key}` is no token"))),
            },
        };
        Ok(FolderSettings {
            add_bos_token: truth("add_bos_token")?,
            add_eos_token: truth("add_eos_token")?,
            bos: token("bos_token")?,
            eos: token("eos_token")?,
        })
    }
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
