//! A token with the text that it writes, as reports have it.

use pumice_models::TextTokenizer;
use serde::Serialize;

/// A token in an object of `--json`.
#[derive(Serialize)]
pub(crate) struct TokenText<'r> {
    id: u32,
    /// What it writes in the middle of a text; the name of a control token.
    text: String,
    /// Where it is a part of a character.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<&'r [u8]>,
}

impl<'r> TokenText<'r> {
    /// A token of a tokenizer; without one, and where the model has more tokens than it, without text.
    pub(crate) fn of(tokenizer: Option<&'r TextTokenizer>, id: u32) -> TokenText<'r> {
        let bytes = tokenizer.and_then(|t| t.token_bytes(id)).unwrap_or_default();
        let is_text = std::str::from_utf8(bytes).is_ok();
        let text = String::from_utf8_lossy(bytes).into_owned();
        TokenText { id, text, bytes: (!is_text).then_some(bytes) }
    }
}
