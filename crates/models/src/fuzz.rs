//! Entry points of the readers that take any bytes. Each returns for every input, without a panic that leaves it.

use crate::config::EncoderConfig;
use crate::language;
use crate::sentence::{self, Pooling, SentenceSpec};
use crate::text::{ChatInput, ChatTemplate, FolderSettings, JsonValue, Message, TextTokenizer, Vocabulary};
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

/// Reads the bytes as a `tokenizer_config.json` and as a language model's `tokenizer.json` and, if it is one, uses it.
pub fn fuzz_text_tokenizer(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let file = Path::new("tokenizer.json");
    let settings = FolderSettings::from_json(file, text).unwrap_or_default();
    if let Ok(tokenizer) = TextTokenizer::from_json(file, text, &settings) {
        use_tokenizer(&tokenizer);
    }
}

/// Reads the bytes as a `tokenizer.model` and, if it is one, uses it.
pub fn fuzz_sentencepiece(data: &[u8]) {
    let settings = FolderSettings::default();
    if let Ok(tokenizer) = TextTokenizer::from_sentencepiece(Path::new("tokenizer.model"), data, &settings) {
        use_tokenizer(&tokenizer);
    }
}

/// Takes the bytes as a GGUF file's vocabulary and, if it is one, uses it. The first line is the kind and the rules for
/// words; then each line is a token (its type as a digit, its text) or, after an empty line, a merge.
pub fn fuzz_vocabulary(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (head, lists) = text.split_once('\n').unwrap_or((text, ""));
    let (model, pre) = head.split_once(' ').unwrap_or((head, "default"));
    let (tokens, merges) = lists.split_once("\n\n").unwrap_or((lists, ""));
    let kind = |line: &str| line.bytes().next().map_or(0, |b| i32::from(b) - i32::from(b'0'));
    let token_type: Vec<i32> = tokens.lines().map(kind).collect();
    let tokens: Vec<&str> = tokens.lines().map(|line| line.get(1..).unwrap_or("")).collect();
    let scores: Vec<f32> = tokens.iter().map(|token| -(token.len() as f32)).collect();
    let merges: Vec<&str> = merges.lines().collect();
    let made = TextTokenizer::new(&Vocabulary {
        model,
        pre,
        tokens: &tokens,
        token_type: &token_type,
        merges: &merges,
        scores: &scores,
        bos_token_id: Some(1),
        add_bos_token: true,
        ..Vocabulary::default()
    });
    if let Ok(tokenizer) = made {
        use_tokenizer(&tokenizer);
    }
}

/// Texts become ids and ids become texts; a stream writes what decoding at once does.
fn use_tokenizer(tokenizer: &TextTokenizer) {
    for text in ["", "a", " ab<s> <|x|>b  ", "日本 🙂 é\u{301} \u{0}\u{200d} 123\r\n'S"] {
        for parse_special in [false, true] {
            let Ok(ids) = tokenizer.encode_prompt(text, parse_special) else { continue };
            let mut stream = tokenizer.stream();
            let streamed: String = ids.iter().map(|&id| stream.push(id)).collect();
            assert_eq!(streamed + &stream.flush(), tokenizer.decode(&ids));
        }
    }
}
