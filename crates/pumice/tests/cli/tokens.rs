//! Tokens of a text: those that `generate --prompt` reads, with and without control tokens, from each place of a text.

use super::folder::folder;
use super::{Interrupts, command, file, parsed, run, tiny};
use serde_json::Value;
use std::process::Command;

fn report(words: &[&str]) -> Value {
    serde_json::from_str(&command(words).expect("encodes")).expect("an object")
}

#[test]
fn tokens_are_those_that_generate_reads() {
    let folder = folder("tokenized");
    let model = folder.to_str().expect("text");
    let text = "the <|end|> of 😀\n";
    let tokens = |more: &[&str]| report(&[&["tokenize", "--model", model, "--json"], more].concat());
    let all = tokens(&["--prompt", text]);
    let words = ["generate", "--model", model, "--device", "cpu", "--prompt", text, "-n", "1", "--json"];
    assert_eq!(all["ids"], report(&words)["prompt_ids"]);
    assert_eq!(all["tokens"], all["ids"].as_array().expect("ids").len());
    assert_eq!((&all["ids"][0], &all["pieces"][0]["text"]), (&711.into(), &"<s>".into()));
    // The same text from a file.
    assert_eq!(tokens(&["--file", &file("tokenized.txt", text)]), all);

    // Without the frame, and without control tokens in the text.
    let ids = |report: &Value| -> Vec<u64> {
        report["ids"].as_array().expect("ids").iter().filter_map(Value::as_u64).collect()
    };
    let bare = tokens(&["--prompt", text, "--no-bos"]);
    assert_eq!(ids(&bare), ids(&all)[1..]);
    let control = |report: &Value| ids(report).iter().filter(|&&id| id >= 711).count();
    let plain = tokens(&["--prompt", text, "--no-bos", "--no-parse-special"]);
    assert_eq!((control(&bare), control(&plain)), (1, 0), "{bare} {plain}");

    // What pieces write is the text, whatever characters are cut.
    let written: Vec<u8> = plain["pieces"].as_array().expect("pieces").iter().flat_map(bytes).collect();
    assert_eq!(String::from_utf8(written).expect("whole"), text);
    let cut = plain["pieces"].as_array().expect("pieces").iter().filter(|p| p["bytes"].is_array()).count();
    assert!(cut > 1, "this vocabulary has no token for the face: {plain}");
}

fn bytes(piece: &Value) -> Vec<u8> {
    match piece["bytes"].as_array() {
        Some(bytes) => bytes.iter().filter_map(Value::as_u64).map(|b| b as u8).collect(),
        None => piece["text"].as_str().expect("text").as_bytes().to_vec(),
    }
}

#[test]
fn a_line_a_token_and_their_number_apart() {
    let folder = folder("tokenized_lines");
    let words = ["tokenize", "--model", folder.to_str().expect("text"), "--prompt", "a\né", "--no-bos"];
    let written = run(&words, &Interrupts::default()).expect("encodes");
    let out = String::from_utf8(written.out).expect("text");
    let shown: Vec<&str> = out.lines().map(|line| line.split_once("  \"").expect("a piece").1).collect();
    assert_eq!(shown, ["a\"", "\\n\"", "\\xc3\"", "\\xa9\""], "{out}");
    assert_eq!(written.log, "4 tokens\n");
    let said = parsed(&words[..3]).expect_err("no text");
    assert!(said.contains("--prompt"), "{said}");
}

/// What the crate `tokenizers` panics at is an error, and was told as a panic before.
#[test]
fn a_damaged_tokenizer_is_told_in_one_line() {
    let read = |path: &str| std::fs::read_to_string(path).expect("there");
    let golden: Value = serde_json::from_str(&read(&tiny("../text/tokenizer_json.json"))).expect("JSON");
    let sound = golden["tokenizers"]["bytes"]["file"].as_str().expect("a file");
    let pieces = |id: &str| serde_json::json!([{"Sequence": {"id": id, "type_id": 0}}]);
    let template = serde_json::json!({
        "type": "TemplateProcessing", "single": pieces("B"), "pair": pieces("A"), "special_tokens": {},
    });
    let of_empty = serde_json::json!({"type": "Replace", "pattern": {"String": ""}, "content": "x"});
    let of_map = serde_json::json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"});
    let folder = folder("panics");
    for (at, value) in [("/normalizer", of_empty), ("/normalizer", of_map), ("/post_processor", template)] {
        let mut file: Value = serde_json::from_str(sound).expect("JSON");
        *file.pointer_mut(at).expect("there") = value;
        std::fs::write(folder.join("tokenizer.json"), file.to_string()).expect("written");
        let words = ["tokenize", "--prompt", "hello", "--model", folder.to_str().expect("text")];
        let told = Command::new(env!("CARGO_BIN_EXE_pumice")).args(words).output().expect("runs");
        let said = String::from_utf8(told.stderr).expect("text");
        assert_eq!(told.status.code(), Some(2), "{said}");
        assert!(said.contains("the tokenizer gave up") && said.lines().count() == 1, "{said}");
    }
}
