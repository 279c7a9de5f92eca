//! Entry points of the readers that take any bytes. Each returns for every input, without a panic that leaves it.

use crate::config::EncoderConfig;
use crate::language;
use crate::sentence::{self, Pooling, SentenceSpec};
use crate::text::{ChatInput, ChatTemplate, JsonValue, Message};
use crate::tokenizer::SentenceTokenizer;
use std::path::Path;

/// Reads the bytes as a `config.json`.
pub fn fuzz_config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(config) = EncoderConfig::parse(Path::new("config.json"), text) {
        assert!(config.max_tokens() > 0 && config.head_width() * config.heads == config.hidden);
    }
}

/// Reads the bytes as a `config.json` of a language model.
pub fn fuzz_language_config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    language::fuzz_language_config(text);
}

/// Reads the bytes as a `modules.json` and as a pooling's `config.json`.
pub fn fuzz_sentence(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    sentence::fuzz_modules(text);
}

/// Reads the bytes as a chat template and, after a zero byte, as messages, then as tools; writes what they are by
/// turns with and without a beginning of an answer.
pub fn fuzz_chat(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.split('\0');
    let Ok(template) = ChatTemplate::new(parts.next().unwrap_or_default()) else { return };
    let messages: Vec<Message> =
        parts.next().and_then(|part| serde_json::from_str(part).ok()).unwrap_or_default();
    let tools: Option<Vec<JsonValue>> = parts.next().and_then(|part| serde_json::from_str(part).ok());
    let input = ChatInput::new(&messages).add_generation_prompt(data.len().is_multiple_of(2));
    let input = tools.as_ref().map_or(input, |tools| input.tools(tools));
    // An error is an answer, too.
    let _ = template.render(&input.special_tokens("<s>", "</s>"));
}

/// Reads the bytes as a `tokenizer.json` and, if it is one, uses it.
pub fn fuzz_tokenizer(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let spec = SentenceSpec {
        pooling: Pooling::Mean,
        normalize: true,
        limit_chosen: false,
        max_tokens: 16,
        lowercase: false,
        prompt: String::new(),
    };
    if let Ok(tokenizer) = SentenceTokenizer::from_json(Path::new("tokenizer.json"), text, &spec, 1000, 0) {
        for text in [
            "",
            "a",
            "Hello, world! 123",
            "日本 🙂 é\u{301} \u{0}\u{200d}",
            "x x x x x x x x x x x x x x x x x x x x",
        ] {
            if let Ok(ids) = tokenizer.encode(0, text) {
                assert!(ids.len() <= 16 && ids.iter().all(|&id| (0..1000).contains(&id)));
            }
        }
    }
}
