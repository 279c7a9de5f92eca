//! A million damaged configurations through each reader, and damaged tokenizers used: nothing panics out,
//! memory is bounded.

use pumice_import::fuzz::{Mutator, within_memory};
use pumice_models::fuzz::{fuzz_chat, fuzz_config, fuzz_language_config, fuzz_sentence, fuzz_tokenizer};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory is that of the process: tests in one process take turns.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const RUNS: u32 = 1_000_000;

/// By how much peak memory may grow over inputs of a few KiB.
const LIMIT_KIB: u64 = 64 << 10;

fn corpus(files: &[&str]) -> Vec<Vec<u8>> {
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny");
    files.iter().map(|f| fs::read(tiny.join(f)).expect("checked in")).collect()
}

#[test]
fn config_reader_survives_a_million_files() {
    let _alone = alone();
    let files = ["bert/config.json", "roberta/config.json", "xlmr/config.json", "distilbert/config.json"];
    let words = [
        "\"hidden_size\":",
        "\"model_type\":\"bert\"",
        "[[[[",
        "{\"a\":",
        "true",
        "\"relu\"",
        "1e999",
        "\\ud800",
    ];
    let mut mutator = Mutator::new(11, corpus(&files), &words);
    within_memory(LIMIT_KIB, || {
        for _ in 0..RUNS {
            fuzz_config(&mutator.generate());
        }
    });
}

/// Five hundred thousand (E10), of configurations of every family.
#[test]
fn language_config_reader_survives_damaged_files() {
    let _alone = alone();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny_decoders");
    let folders = fs::read_dir(root).expect("checked in").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = folders.map(|folder| folder.join("config.json")).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read(file).expect("checked in")).collect();
    let words = [
        "\"rope_type\":\"yarn\"",
        "\"factor\":",
        "\"layer_types\":",
        "[[[[",
        "{\"a\":",
        "true",
        "1e999",
        "16777216",
    ];
    let mut mutator = Mutator::new(14, texts, &words);
    within_memory(LIMIT_KIB, || {
        for _ in 0..RUNS / 2 {
            fuzz_language_config(&mutator.generate());
        }
    });
}

#[test]
fn sentence_readers_survive_a_million_files() {
    let _alone = alone();
    let files = [
        "bert/modules.json",
        "roberta/modules.json",
        "bert/1_Pooling/config.json",
        "roberta/1_Pooling/config.json",
    ];
    let words = ["\"type\":", "\"path\":\"..\"", "[[[[", "{\"a\":", "true", "\"max\"", "\"pooling_mode\":"];
    let mut mutator = Mutator::new(12, corpus(&files), &words);
    within_memory(LIMIT_KIB, || {
        for _ in 0..RUNS {
            fuzz_sentence(&mutator.generate());
        }
    });
}

/// Templates with conversations, both damaged. Each is read and rendered on threads of their own, so there are fewer.
#[test]
fn chat_templates_survive_damaged_sources_and_conversations() {
    let _alone = alone();
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/text");
    let golden = |name: &str| -> serde_json::Value {
        let bytes = fs::read(text.join(name)).expect("checked in");
        serde_json::from_slice(&bytes).expect("JSON")
    };
    let (written, constructs, inputs) =
        (golden("chat_written.json"), golden("chat_constructs.json"), golden("chat_inputs.json"));
    let sources = written.as_object().expect("templates").values().map(|one| &one["source"]);
    let sources: Vec<&str> = sources
        .chain(constructs.as_array().expect("constructs").iter().map(|one| &one[0]))
        .map(|source| source.as_str().expect("a source"))
        .collect();
    let inputs = inputs.as_array().expect("conversations");
    let with_input = |(at, source): (usize, &&str)| {
        let input = &inputs[at % inputs.len()];
        format!("{source}\0{}\0{}", input["messages"], input["tools"]).into_bytes()
    };
    let words = [
        "{% for m in messages %}",
        "{% endfor %}",
        "{{ messages }}",
        " | tojson(indent=9)",
        ".split(",
        " ~ x * 99999",
        "{% set ns.x = [ns.x, ns.x] %}",
        "{% macro m(x) %}",
        " in messages",
        "[::-1]",
        "\\U0010ffff",
        "\0[{\"role\":\"user\"}]",
    ];
    let mut mutator = Mutator::new(15, sources.iter().enumerate().map(with_input).collect(), &words);
    within_memory(4 * LIMIT_KIB, || {
        for _ in 0..20_000 {
            fuzz_chat(&mutator.generate());
        }
    });
}

/// Tokenizers are slow to make, so fewer of them. Panics inside the tokenizers crate are fenced; their messages are
/// kept from the output here.
#[test]
fn tokenizer_survives_damaged_files() {
    let _alone = alone();
    let files =
        ["bert/tokenizer.json", "roberta/tokenizer.json", "xlmr/tokenizer.json", "distilbert/tokenizer.json"];
    let words = [
        "\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a+)+$\"},",
        "\"type\":\"Replace\",",
        "\"ByteLevel\"",
        "\"Unigram\"",
        "\"WordLevel\"",
        "\"dropout\":0.5,",
        "\"unk_id\":99999,",
        "\"ids\":[],",
        "\"max_input_chars_per_word\":0,",
        "\"continuing_subword_prefix\":\"\",",
        "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},",
        "\"precompiled_charsmap\":\"AAAA\",",
    ];
    let mut mutator = Mutator::new(13, corpus(&files), &words);
    std::panic::set_hook(Box::new(|_| {}));
    let mut survived = Ok(());
    within_memory(LIMIT_KIB, || {
        survived = std::panic::catch_unwind(move || {
            for _ in 0..20_000 {
                fuzz_tokenizer(&mutator.generate());
            }
        });
        let _ = std::panic::take_hook();
    });
    assert!(survived.is_ok(), "a panic left the fence");
}
