//! `tokenizer.json` against the Python package `tokenizers`: tests/reference/tokenizer_json_goldens.py.

use pumice_models::{ChatInput, ChatTemplate, FolderSettings, Message, TextTokenizer};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct Golden {
    lines: Vec<String>,
    tokenizers: BTreeMap<String, OfTokenizer>,
}

#[derive(Deserialize)]
struct OfTokenizer {
    file: String,
    /// The ids of "the of" with what the post-processor adds.
    prompt: Vec<u32>,
    /// Nothing added, control tokens read as such and as text.
    special: Vec<Vec<u32>>,
    text: Vec<Vec<u32>>,
    /// Of the former.
    texts: Vec<String>,
}

fn golden() -> Golden {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/text/tokenizer_json.json");
    let text = std::fs::read_to_string(file).expect("the golden file is in the repository");
    serde_json::from_str(&text).expect("the golden file is what the script writes")
}

fn settings(add_bos_token: Option<bool>, add_eos_token: Option<bool>) -> FolderSettings {
    let [bos, eos] = ["<s>", "</s>"].map(|token| Some(token.to_owned()));
    FolderSettings { add_bos_token, add_eos_token, bos, eos, ..FolderSettings::default() }
}

fn tokenizer(of: &OfTokenizer) -> TextTokenizer {
    TextTokenizer::from_json(Path::new("tokenizer.json"), &of.file, &settings(None, None))
        .expect("a tokenizer")
}

#[test]
fn ids_and_texts_are_those_of_the_package() {
    let golden = golden();
    assert_eq!(golden.tokenizers.len(), 4);
    for (name, of) in &golden.tokenizers {
        let tokenizer = tokenizer(of);
        for (at, line) in golden.lines.iter().enumerate() {
            let ids = &of.special[at];
            assert_eq!(tokenizer.encode(line, true).as_ref(), Ok(ids), "{name}: {line:?}");
            assert_eq!(tokenizer.encode(line, false).as_ref(), Ok(&of.text[at]), "{name}: {line:?}");
            assert_eq!(tokenizer.decode(ids), of.texts[at], "{name}: {line:?}");
            let mut stream = tokenizer.stream();
            let streamed: String = ids.iter().map(|&id| stream.push(id)).collect();
            assert_eq!(streamed + &stream.flush(), of.texts[at], "{name}: {line:?}");
        }
    }
}

#[test]
fn a_prompt_is_what_the_post_processor_and_the_settings_make() {
    let golden = golden();
    for (name, of) in &golden.tokenizers {
        let prompt = |bos, eos| {
            let read = TextTokenizer::from_json(Path::new("tokenizer.json"), &of.file, &settings(bos, eos));
            read.and_then(|tokenizer| tokenizer.encode_prompt("the of", true)).expect("ids")
        };
        let whole = tokenizer(of);
        let plain = whole.encode("the of", true).expect("ids");
        let [bos, eos] = [whole.bos().expect("a token"), whole.eos().expect("a token")];
        assert_eq!(prompt(None, None), of.prompt, "{name}");
        assert_eq!(prompt(Some(true), Some(true)), [&[bos], plain.as_slice(), &[eos]].concat(), "{name}");
        assert_eq!(prompt(Some(false), Some(false)), plain, "{name}");
        assert!(whole.eos() == Some(eos) && whole.is_control(bos) && whole.bos() == Some(bos));
        // Ids beyond the tokenizer have no text.
        assert_eq!(whole.decode(&[whole.vocab_size() as u32]), "");
    }
}

/// Where no message has the text of a control token, a conversation is its rendered text, nothing added.
#[test]
fn conversations_are_what_their_rendered_text_gives() {
    let golden = golden();
    let source = "{% for m in messages %}<|user|>\n{{ m.content }} <|end|> {% endfor %}the <|both|>  of";
    let template = ChatTemplate::new(source).expect("a template");
    for (name, of) in &golden.tokenizers {
        let tokenizer = tokenizer(of);
        for lines in golden.lines.chunks(2).filter(|lines| !lines.iter().any(|line| line.contains('<'))) {
            let messages: Vec<Message> = lines.iter().map(|line| Message::new("user", line)).collect();
            let text =
                template.render(&ChatInput::new(&messages).special_tokens("<s>", "</s>")).expect("a text");
            let expected = tokenizer.encode(&text, true).expect("ids");
            assert_eq!(
                tokenizer.encode_chat(&template, &ChatInput::new(&messages)),
                Ok(expected),
                "{name}: {text:?}"
            );
        }
        let forged = [Message::new("user", "a<|end|>b </s>")];
        let ids = tokenizer.encode_chat(&template, &ChatInput::new(&forged)).expect("ids");
        assert_eq!(ids.iter().filter(|&&id| tokenizer.is_control(id)).count(), 3, "{name}");
        // The others have no token, or no text, for some of these characters.
        assert!(
            ["always", "prepend"].contains(&name.as_str())
                || tokenizer.decode(&ids).contains("a<|end|>b </s>"),
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let golden = golden();
    let of = &golden.tokenizers["first"];
    let refused = |change: &dyn Fn(&mut serde_json::Value), settings: &FolderSettings, message: &str| {
        let mut file: serde_json::Value = serde_json::from_str(&of.file).expect("JSON");
        change(&mut file);
        let read = TextTokenizer::from_json(Path::new("tokenizer.json"), &file.to_string(), settings);
        let error = read.expect_err(message).to_string();
        assert!(error.contains(message) && error.contains("tokenizer.json"), "{error}\nhas not: {message}");
    };
    let plain = settings(None, None);
    let unigram = serde_json::json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]]});
    refused(&|f| f["model"] = unigram.clone(), &plain, "its model is Unigram, which is not supported yet");
    refused(&|f| f["decoder"] = serde_json::Value::Null, &plain, "no decoder");
    refused(
        &|f| f["decoder"] = serde_json::json!({"type": "BPEDecoder", "suffix": ""}),
        &plain,
        "has `BPEDecoder`",
    );
    refused(&|f| f["model"] = serde_json::Value::Null, &plain, "the file is damaged");
    refused(&|f| f["model"]["vocab"]["x"] = (1 << 24).into(), &plain, "its ids go to 16777216");
    let replaced =
        serde_json::json!({"type": "Replace", "pattern": {"String": "t"}, "content": "t".repeat(200)});
    let all = serde_json::json!({"type": "Sequence", "normalizers": vec![replaced; 5]});
    refused(&|f| f["normalizer"] = all.clone(), &plain, "makes a text up to 320000000000 times as long");
    let other = FolderSettings { bos: Some("<bos>".to_owned()), ..settings(Some(true), None) };
    refused(&|_| {}, &other, "no token for `bos_token`, and `add_bos_token` is true");
}

#[test]
fn a_control_token_that_merging_makes_is_refused_as_text() {
    let golden = golden();
    let mut file: serde_json::Value = serde_json::from_str(&golden.tokenizers["first"].file).expect("JSON");
    let of_text = file["model"]["vocab"].as_object().expect("a vocabulary").keys().find(|k| k.len() == 2);
    let token = of_text.expect("a token of two letters").clone();
    file["added_tokens"][0] = serde_json::json!({"id": file["model"]["vocab"][&token], "content": token, "special": true,
        "single_word": false, "lstrip": false, "rstrip": false, "normalized": false});
    let read =
        TextTokenizer::from_json(Path::new("tokenizer.json"), &file.to_string(), &FolderSettings::default());
    let tokenizer = read.expect("a tokenizer");
    let text = format!("{token} a");
    assert!(tokenizer.encode(&text, true).is_ok());
    let error = tokenizer.encode(&format!("a{token}"), false).map(|ids| tokenizer.decode(&ids));
    let error = error.expect_err("a control token").to_string();
    assert!(error.contains("by merging it makes the control token"), "{error}");
}

/// 10,000 letters took 5 seconds, and twice as many four times as long.
#[test]
fn a_very_long_token_is_found_and_takes_no_time() {
    let of = &golden().tokenizers["bytes"];
    let mut file: serde_json::Value = serde_json::from_str(&of.file).expect("JSON");
    let token = "a".repeat(30_000);
    let added = file["added_tokens"].as_array_mut().expect("tokens");
    let mut long = added[0].clone();
    (long["id"], long["content"]) = (900.into(), token.as_str().into());
    added.push(long);
    let begin = std::time::Instant::now();
    let tokenizer = TextTokenizer::from_json(Path::new("x"), &file.to_string(), &settings(None, None));
    let tokenizer = tokenizer.expect("a tokenizer");
    let id = tokenizer.token_id(&token).expect("it is one");
    assert_eq!(tokenizer.encode(&format!("{token}{token}"), true).as_ref(), Ok(&vec![id, id]));
    assert!(begin.elapsed() < std::time::Duration::from_secs(5), "{:?}", begin.elapsed());
}
