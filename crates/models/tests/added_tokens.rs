//! Tokens that a folder adds to those of its `tokenizer.model`, against transformers' slow tokenizer:
//! tests/reference/added_tokens_goldens.py.

use pumice_import::{GgufArray, GgufModel, GgufValue};
use pumice_models::{Conversion, FolderSettings, LanguageModel, LanguageOptions, TextError, TextTokenizer};
use pumice_types::DType;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Golden {
    tokenizer_config: Value,
    added_tokens: Value,
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
    eos: u32,
    count: usize,
    tokens: BTreeMap<String, u32>,
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

fn golden() -> Golden {
    let text = std::fs::read_to_string(data().join("text/sentencepiece/added.json")).expect("a golden file");
    serde_json::from_str(&text).expect("what the script writes")
}

/// The tokenizer of `prefix.model` with these files beside it.
fn tokenizer(config: &Value, added: &Value) -> Result<TextTokenizer, TextError> {
    let bytes = std::fs::read(data().join("text/sentencepiece/prefix.model")).expect("a model");
    let settings = FolderSettings::from_json(Path::new("tokenizer_config.json"), &config.to_string())?;
    let settings = settings.with_added_tokens(Path::new("added_tokens.json"), &added.to_string())?;
    TextTokenizer::from_sentencepiece(Path::new("tokenizer.model"), &bytes, &settings)
}

#[test]
fn ids_are_those_of_transformers() {
    let golden = golden();
    let tokenizer = tokenizer(&golden.tokenizer_config, &golden.added_tokens).expect("a tokenizer");
    assert_eq!(
        (tokenizer.vocab_size(), tokenizer.bos(), tokenizer.eos()),
        (golden.count, Some(1), Some(golden.eos))
    );
    for (text, &id) in &golden.tokens {
        assert_eq!(tokenizer.token_id(text), Some(id), "{text}");
    }
    for (text, ids) in golden.texts.iter().zip(&golden.ids) {
        assert_eq!(tokenizer.encode(text, true).as_ref(), Ok(ids), "{text:?}");
    }
}

/// What is no structure is one token, whoever writes it; structure is text where it is not asked for.
#[test]
fn structure_is_read_where_it_is_asked_for() {
    let golden = golden();
    let tokenizer = tokenizer(&golden.tokenizer_config, &golden.added_tokens).expect("a tokenizer");
    for (text, ids) in golden.texts.iter().zip(&golden.ids) {
        let plain = tokenizer.encode(text, false).expect("ids");
        assert!(!plain.iter().any(|&id| tokenizer.is_control(id)), "{text:?}");
        let has_structure = ids.iter().any(|&id| tokenizer.is_control(id));
        assert_eq!(plain == *ids, !has_structure, "{text:?}");
    }
    assert!(tokenizer.encode("a<tool_call>", false).expect("ids").contains(&702));
    assert!([700, 701, 703].into_iter().all(|id| tokenizer.is_control(id)) && !tokenizer.is_control(704));
    assert_eq!(tokenizer.decode(&golden.ids[1][..10]), "<|im_start|> user\nthe of<|im_end|> ");
    assert_eq!(tokenizer.decode(&golden.ids[2]), "a<tool_call> {}<tool_call>");
    assert_eq!(tokenizer.encode_prompt("the", false).expect("ids")[0], 1);
}

#[test]
fn what_contradicts_itself_is_refused_by_file_and_key() {
    let golden = golden();
    let (config, none) = (&golden.tokenizer_config, json!({}));
    let changed = |id: &str, token: Value| {
        let mut config = config.clone();
        config["added_tokens_decoder"][id] = token;
        config
    };
    let token = |text: &str| json!({"content": text, "special": true});
    let refused = |config: &Value, added: &Value, said: &str| {
        let error = tokenizer(config, added).expect_err(said).to_string();
        assert!(error.contains(said), "{error}\nhas not: {said}");
    };
    refused(
        &changed("5", token("<x>")),
        &none,
        "tokenizer_config.json: `added_tokens_decoder.5` is token 5, `<x>`, and that token is `",
    );
    refused(
        &changed("709", token("<x>")),
        &none,
        "`added_tokens_decoder.709` is token 709, `<x>`, and tokens 704 to 708",
    );
    refused(&changed("704", token("<s>")), &none, "is token 704, `<s>`, and another token has that text");
    refused(&changed("x", token("<x>")), &none, "`added_tokens_decoder.x` is no token id");
    refused(&changed("704", json!({"special": true})), &none, "`added_tokens_decoder.704` has no text");
    refused(
        &changed("704", json!({"content": "<x>", "special": 1})),
        &none,
        "`added_tokens_decoder.704.special` is neither",
    );
    refused(
        &changed("704", json!({"content": "<x>", "single_word": true})),
        &none,
        "with `single_word`, which is not supported",
    );
    refused(
        config,
        &json!({"<|im_start|>": 701}),
        "added_tokens.json: `<|im_start|>` is token 701, `<|im_start|>`, and that",
    );
    refused(config, &json!({"<x>": -1}), "added_tokens.json: `<x>` is -1, which is no token id");
    refused(config, &json!(["<x>"]), "added_tokens.json: is no JSON object");
    let mut unknown = config.clone();
    unknown["eos_token"] = json!("<|never|>");
    refused(&unknown, &none, "tokenizer.model: has no token for `eos_token`, which is `<|never|>`");
}

/// Rows of the folder's token table: four have no token.
const ROWS: usize = 710;

/// A tiny Llama whose token table has so many rows, with a `tokenizer.model` and what is beside it.
fn folder(golden: &Golden) -> PathBuf {
    let (folder, llama) =
        (PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("added_tokens"), data().join("tiny_decoders/llama"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let config = std::fs::read_to_string(llama.join("config.json")).expect("a file");
    let mut config: Value = serde_json::from_str(&config).expect("an object");
    config["vocab_size"] = json!(ROWS);
    config["eos_token_id"] = Value::Null;
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("written");
    write("config.json", config.to_string().as_bytes());
    write("tokenizer_config.json", golden.tokenizer_config.to_string().as_bytes());
    write("added_tokens.json", golden.added_tokens.to_string().as_bytes());
    write(
        "tokenizer.model",
        &std::fs::read(data().join("text/sentencepiece/prefix.model")).expect("a model"),
    );
    let bytes = std::fs::read(llama.join("model.safetensors")).expect("a file");
    let (len, rest) = bytes.split_at(8);
    let len = u64::from_le_bytes(len.try_into().expect("eight bytes")) as usize;
    let mut tensors: Map<String, Value> = serde_json::from_slice(&rest[..len]).expect("a header");
    let mut wider = Vec::new();
    for tensor in tensors.values_mut().filter(|tensor| tensor["shape"].is_array()) {
        let place = |i: usize| tensor["data_offsets"][i].as_u64().expect("a place") as usize;
        let mut own = rest[len..][place(0)..place(1)].to_vec();
        if tensor["shape"][0] == 288 {
            own.resize(own.len() / 288 * ROWS, 0);
            tensor["shape"][0] = json!(ROWS);
        }
        tensor["data_offsets"] = json!([wider.len(), wider.len() + own.len()]);
        wider.extend(own);
    }
    let header = Value::from(tensors).to_string();
    write(
        "model.safetensors",
        &[&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &wider].concat(),
    );
    folder
}

#[test]
fn a_folder_ends_answers_and_becomes_a_file_with_them() {
    let golden = golden();
    let folder = folder(&golden);
    let open = |path: &Path| LanguageModel::open(path, &LanguageOptions::default()).expect("opens");
    assert_eq!(open(&folder).config.end_of_sequence, [golden.eos]);
    let conversion = Conversion::open(&folder, DType::BF16.into()).expect("planned");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("added_tokens.gguf");
    conversion.write(&mut std::fs::File::create(&path).expect("made"), |_, _| {}).expect("written");
    let file = GgufModel::open(&path).expect("opens");
    let tokens: Vec<&str> =
        file.metadata().strings("tokenizer.ggml.tokens").expect("tokens").iter().collect();
    assert_eq!(
        tokens[700..].join(" "),
        "<|im_start|> <|im_end|> <tool_call> <|end|> <think> </think> [PAD706] [PAD707] [PAD708] [PAD709]"
    );
    let Some(GgufValue::Array(GgufArray::I32(kinds))) = file.metadata().get("tokenizer.ggml.token_type")
    else {
        panic!("kinds of tokens");
    };
    assert_eq!(kinds[700..], [3, 3, 4, 3, 4, 4, 5, 5, 5, 5]);
    assert_eq!(file.metadata().u64_if_any("tokenizer.ggml.eos_token_id").expect("a number"), Some(701));
    let of_file = open(&path).tokenizer().expect("a vocabulary");
    // Files have no word for a token that takes spaces along.
    for (text, ids) in golden.texts.iter().zip(&golden.ids).filter(|(text, _)| !text.contains("<|end|>")) {
        assert_eq!(of_file.encode(text, true).as_ref(), Ok(ids), "{text:?}");
    }
}
