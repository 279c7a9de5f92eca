//! `pumice convert`: what it writes, says and refuses. Values are tested where they are made.

use super::{command, parsed, place, tiny};
use pumice::WeightSource;
use pumice::parts::import::GgufModel;
use serde_json::Value;
use std::fs;

/// The GGUF file of a small Llama.
fn model() -> String {
    tiny("../tiny_decoders/llama/model.gguf")
}

/// What is in a folder whose names begin so.
fn written(name: &str) -> Vec<String> {
    let folder = place(name);
    let entries = fs::read_dir(folder.parent().expect("a folder")).expect("read");
    let names = entries.map(|entry| entry.expect("read").file_name().into_string().expect("text"));
    let mut names: Vec<String> = names.filter(|found| found.contains(name)).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_written_and_said() {
    let out = place("converted-q4_k.gguf").display().to_string();
    let text = command(&["convert", &model(), "-o", &out, "--quantize", "q4_k"]).expect("converted");
    let of_tokens = "q8_0 instead: 2 tensors (output.weight, rows of 64)";
    for said in [of_tokens, "q5_0 instead: 14 tensors", "21 tensors (5 f32"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let file = GgufModel::open(&out).expect("opened");
    assert_eq!(file.describe("blk.0.attn_q.weight").expect("there").encoding.name(), "q5_0");
    assert_eq!(written("converted-q4_k"), ["converted-q4_k.gguf"]);
}

#[test]
fn shards_and_json() {
    let out = place("shards.gguf").display().to_string();
    let args = ["convert", &model(), "-o", &out, "--quantize", "q8_0", "--shards", "2", "--json"];
    let report: Value = serde_json::from_str(&command(&args).expect("converted")).expect("json");
    assert_eq!((&report["tensors"], &report["quantization"]), (&21.into(), &"q8_0".into()));
    assert_eq!(report["encodings"], serde_json::json!({"f32": 5, "q8_0": 16}));
    let names = ["shards-00001-of-00002.gguf", "shards-00002-of-00002.gguf"];
    assert_eq!(written("shards-0"), names);
    assert_eq!(GgufModel::open(place(names[0])).expect("one model").names().len(), 21);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |args: &[&str]| command(&[&["convert"], args].concat()).expect_err("refused").to_string();
    let onto = place("onto.gguf");
    fs::copy(model(), &onto).expect("copied");
    let onto = onto.display().to_string();
    let same = refused(&[&onto, "-o", &onto, "--quantize", "q8_0"]);
    assert!(same.contains("written over"), "{same}");
    let other = refused(&[&onto, "-o", &place("x.bin").display().to_string(), "--quantize", "q8_0"]);
    assert!(other.contains("must end in .gguf"), "{other}");
    let out = place("many.gguf").display().to_string();
    let many = refused(&[&onto, "-o", &out, "--quantize", "q8_0", "--shards", "22"]);
    assert!(many.contains("21 tensors"), "{many}");
    assert!(written("many").is_empty());
    let unknown =
        parsed(&["convert", &onto, "-o", &out, "--quantize", "iq4_nl"]).map(|_| ()).expect_err("refused");
    assert!(unknown.contains("q4_k") && unknown.contains("bf16"), "{unknown}");
}
