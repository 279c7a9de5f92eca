//! SentencePiece's BPE against `sentencepiece` and llama.cpp: tests/reference/sentencepiece_goldens.py.

use pumice_models::{FolderSettings, TextError, TextTokenizer, Vocabulary};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct Golden {
    lines: Vec<String>,
    models: BTreeMap<String, OfModel>,
}

#[derive(Deserialize)]
struct OfModel {
    /// By `sentencepiece`.
    ids: Vec<Vec<u32>>,
    texts: Vec<String>,
    /// By llama.cpp, control tokens read as such ("special") and as text.
    llama: Option<BTreeMap<String, Vec<Vec<u32>>>>,
    #[serde(default)]
    llama_texts: Vec<String>,
    #[serde(default)]
    tokens: Vec<String>,
    #[serde(default)]
    token_type: Vec<i32>,
    #[serde(default)]
    scores: Vec<f32>,
    #[serde(default)]
    add_space_prefix: bool,
}

fn bytes(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/text/sentencepiece");
    std::fs::read(folder.join(name)).expect("the golden file is in the repository")
}

fn golden() -> Golden {
    serde_json::from_slice(&bytes("sentencepiece.json")).expect("the golden file is what the script writes")
}

fn from_file(name: &str, settings: &FolderSettings) -> Result<TextTokenizer, TextError> {
    TextTokenizer::from_sentencepiece(Path::new(name), &bytes(name), settings)
}

fn streamed(tokenizer: &TextTokenizer, ids: &[u32]) -> String {
    let mut stream = tokenizer.stream();
    let text: String = ids.iter().map(|&id| stream.push(id)).collect();
    text + &stream.flush()
}

#[test]
fn ids_and_texts_of_a_file_are_those_of_sentencepiece() {
    let golden = golden();
    assert_eq!(golden.models.len(), 5);
    for (name, of_model) in &golden.models {
        let tokenizer = from_file(&format!("{name}.model"), &FolderSettings::default()).expect("a model");
        for (line, (ids, text)) in golden.lines.iter().zip(of_model.ids.iter().zip(&of_model.texts)) {
            assert_eq!(tokenizer.encode(line, false).as_ref(), Ok(ids), "{name}: {line:?}");
            assert_eq!(&tokenizer.decode(ids), text, "{name}: {line:?}");
            assert_eq!(&streamed(&tokenizer, ids), text, "{name}: {line:?}");
        }
    }
}

fn from_vocabulary(
    of_model: &OfModel,
    change: impl FnOnce(&mut Vocabulary<'_>),
) -> Result<TextTokenizer, TextError> {
    let tokens: Vec<&str> = of_model.tokens.iter().map(String::as_str).collect();
    let mut vocabulary = Vocabulary {
        model: "llama",
        tokens: &tokens,
        token_type: &of_model.token_type,
        scores: &of_model.scores,
        bos_token_id: Some(1),
        eos_token_id: Some(2),
        unknown_token_id: Some(0),
        add_space_prefix: Some(of_model.add_space_prefix),
        ..Vocabulary::default()
    };
    change(&mut vocabulary);
    TextTokenizer::new(&vocabulary)
}

#[test]
fn ids_and_texts_of_a_gguf_vocabulary_are_those_of_llama_cpp() {
    let golden = golden();
    let mut models = 0;
    for (name, of_model) in &golden.models {
        let Some(llama) = &of_model.llama else { continue };
        models += 1;
        let tokenizer = from_vocabulary(of_model, |_| {}).expect("a vocabulary");
        for (at, line) in golden.lines.iter().enumerate() {
            assert_eq!(tokenizer.encode(line, true).as_ref(), Ok(&llama["special"][at]), "{name}: {line:?}");
            assert_eq!(tokenizer.encode(line, false).as_ref(), Ok(&llama["text"][at]), "{name}: {line:?}");
            let ids = &llama["special"][at];
            // llama.cpp has no text for pieces that are not used, though it makes them of a text.
            if name != "unused" {
                assert_eq!(tokenizer.decode(ids), of_model.llama_texts[at], "{name}: {line:?}");
                assert_eq!(streamed(&tokenizer, ids), of_model.llama_texts[at], "{name}: {line:?}");
            }
        }
    }
    assert_eq!(models, 4);
}

#[test]
fn a_prompt_has_what_the_vocabulary_puts_around_it() {
    let golden = golden();
    let of_model = &golden.models["prefix"];
    let tokenizer = from_vocabulary(of_model, |v| {
        v.add_bos_token = true;
        v.add_eos_token = true;
    });
    let tokenizer = tokenizer.expect("a vocabulary");
    let plain = tokenizer.encode("the of", true).expect("ids");
    let around = [&[1], plain.as_slice(), &[2]].concat();
    assert_eq!(tokenizer.encode_prompt("the of", true), Ok(around.clone()));
    assert_eq!(tokenizer.encode_prompt("<s>the of", true), Ok(around));
    assert!(Vocabulary::adds_bos("llama", "default") && !Vocabulary::adds_bos("gpt2", "default"));
    let settings = |add_bos_token, bos: &str| FolderSettings {
        add_bos_token,
        bos: Some(bos.to_owned()),
        ..FolderSettings::default()
    };
    let prompt = |settings: FolderSettings| {
        from_file("prefix.model", &settings).and_then(|t| t.encode_prompt("the of", false)).expect("ids")
    };
    assert_eq!(prompt(FolderSettings::default()), [&[1], plain.as_slice()].concat());
    assert_eq!(prompt(settings(None, "</s>")), [&[2], plain.as_slice()].concat());
    assert_eq!(prompt(settings(Some(false), "<s>")), plain);
    let all = FolderSettings { add_eos_token: Some(true), ..FolderSettings::default() };
    assert_eq!(prompt(all.clone()), [&[1], plain.as_slice(), &[2]].concat());
    let tokenizer = from_file("prefix.model", &all).expect("a model");
    assert!(tokenizer.eos() == Some(2) && tokenizer.is_control(2));
}

#[test]
fn a_stream_that_goes_on_keeps_its_first_space() {
    let tokenizer = from_file("prefix.model", &FolderSettings::default()).expect("a model");
    let ids = tokenizer.encode("the of", false).expect("ids");
    let (mut begins, mut goes_on) = (tokenizer.stream(), tokenizer.stream_after());
    let text =
        |stream: &mut pumice_models::DecodeStream| ids.iter().map(|&id| stream.push(id)).collect::<String>();
    assert_eq!((text(&mut begins).as_str(), text(&mut goes_on).as_str()), ("the of", " the of"));
}

/// A long text within seconds, in debug builds too: merging must not be quadratic.
#[test]
fn a_million_bytes_become_ids_and_come_back() {
    let golden = golden();
    for name in ["prefix", "small"] {
        let tokenizer = from_vocabulary(&golden.models[name], |_| {}).expect("a vocabulary");
        for part in ["the of déjà 世界 ", "a", "    ", "\u{1f600}"] {
            let text = part.repeat((1 << 20) / part.len());
            let ids = tokenizer.encode(&text, false).expect("ids");
            assert!(tokenizer.decode(&ids) == text, "{name} {part:?}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let golden = golden();
    let of_model = &golden.models["prefix"];
    let refused = |change: &dyn Fn(&mut Vocabulary<'_>), message: &str| {
        let error = from_vocabulary(of_model, |v| change(v)).expect_err(message).to_string();
        assert!(error.contains(message), "{error}\nhas not: {message}");
    };
    refused(&|v| v.scores = &[0.0], "`tokenizer.ggml.scores` has 1 entries for 700 tokens");
    refused(&|v| v.unknown_token_id = Some(700), "`tokenizer.ggml.unknown_token_id` is 700");
    refused(&|v| v.model = "t5", "`t5 (Unigram)`, which is not supported yet");
    let mut golden = golden;
    let of_model = golden.models.get_mut("prefix").expect("a model");
    of_model.scores[7] = f32::NAN;
    let error = from_vocabulary(of_model, |_| {}).expect_err("NaN").to_string();
    assert!(error.contains("`tokenizer.ggml.scores` is NaN at token 7"), "{error}");

    let of_bytes = |bytes: &[u8]| {
        TextTokenizer::from_sentencepiece(Path::new("tokenizer.model"), bytes, &FolderSettings::default())
            .map(|_| ())
            .expect_err("no model")
            .to_string()
    };
    assert!(
        of_bytes(b"").contains("tokenizer.model: has no pieces; the file is damaged"),
        "{}",
        of_bytes(b"")
    );
    // Later fields win: kind, spaces as suffix, spaces not escaped, a table for decoding.
    let with = |fields: &[u8]| of_bytes(&[bytes("prefix.model").as_slice(), fields].concat());
    assert!(with(&[0x12, 2, 0x18, 1]).contains("its model is Unigram, which is not supported yet"));
    assert!(with(&[0x12, 3, 0xC0, 0x01, 1]).contains("`treat_whitespace_as_suffix`"));
    assert!(with(&[0x1A, 2, 0x28, 0]).contains("spaces that are not written"));
    assert!(with(&[0x2A, 3, 0x12, 1, 0]).contains("a table of characters for decoding"));
    assert!(with(&[0x1A, 3, 0x12, 1, 0]).contains("`precompiled_charsmap` is shorter"));
    assert!(with(&[0x0A, 3, 0x0A, 1, b'a']).contains("the piece `a` twice"));
    assert!(with(&[0x0A, 2, 0x18, 9]).contains("a piece of type 9"));
    assert!(with(&[0x0A]).contains("get it again"));
}
