//! Entry points of the readers that take any bytes. Each returns for every input, without a panic that leaves it.

use crate::config::EncoderConfig;
use crate::language;
use crate::sentence::{self, Pooling, SentenceSpec};
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
