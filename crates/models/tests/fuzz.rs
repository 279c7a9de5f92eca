//! A million damaged configurations through each reader, and damaged tokenizers used: nothing panics out,
//! memory is bounded.

use pumice_import::fuzz::{Mutator, within_memory};
use pumice_models::fuzz::{
    fuzz_chat, fuzz_config, fuzz_language_config, fuzz_sentence, fuzz_sentencepiece, fuzz_text_tokenizer,
    fuzz_tokenizer, fuzz_vocabulary,
};
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
        "{% set ns.x = ns.x + ns.x %}",
        " == ns.x",
        " not in [ns.x]",
        "{ns.x: 1}[ns.x]",
        " | reject('eq', ns.x)",
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
    use_quietly(20_000, Mutator::new(13, corpus(&files), &words), fuzz_tokenizer);
}

/// Uses damaged tokenizers; what the tokenizers crate says when it panics inside its fence is kept from the output.
fn use_quietly(runs: u32, mut mutator: Mutator, read: fn(&[u8])) {
    std::panic::set_hook(Box::new(|_| {}));
    let mut survived = Ok(());
    within_memory(LIMIT_KIB, || {
        survived = std::panic::catch_unwind(move || {
            for _ in 0..runs {
                read(&mutator.generate());
            }
        });
        let _ = std::panic::take_hook();
    });
    assert!(survived.is_ok(), "a panic left the fence");
}

/// Five hundred thousand (E10) of small ones; the crate takes most of the time.
#[test]
fn text_tokenizers_survive_damaged_files() {
    let _alone = alone();
    let json = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":1,"content":"<s>","single_word":false,
"lstrip":true,"rstrip":false,"normalized":false,"special":true}],"normalizer":NORMALIZER,"pre_tokenizer":CUTS,"post_processor":
{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],
"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},"decoder":DECODER,"model":{"type":"BPE","dropout":null,
"unk_token":"<unk>","byte_fallback":true,"vocab":{"<unk>":0,"<s>":1,"a":2,"b":3,"▁":4,"ab":5,"<0x0A>":6,"Ġ":7},
"merges":["a b"]},"add_bos_token":true,"bos_token":"<s>","eos_token":"b"}"#;
    let pieces = json
        .replace("NORMALIZER", "null")
        .replace("CUTS", r#"{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}"#)
        .replace(
            "DECODER",
            r#"{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}"#,
        );
    let level = r#"{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}"#;
    let letters =
        json.replace("NORMALIZER", r#"{"type":"NFC"}"#).replace("CUTS", level).replace("DECODER", level);
    let words = [
        "\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a+)+$\"},",
        "\"Unigram\"",
        "\"normalized\":true,",
        "\"rstrip\":true,",
        "\"content\":\"\",",
        "\"stop\":1",
        "\"Metaspace\"",
        "4294967295",
        "\"ids\":[],",
        "\"prepend_scheme\":\"always\"",
    ];
    let corpus = vec![pieces.into_bytes(), letters.into_bytes()];
    use_quietly(RUNS / 2, Mutator::new(15, corpus, &words), fuzz_text_tokenizer);
}

/// A message of Protocol Buffers with a field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

#[test]
fn sentencepiece_reader_survives_damaged_files() {
    let _alone = alone();
    let pieces = [
        ("<unk>", 2),
        ("<s>", 3),
        ("</s>", 3),
        ("▁", 1),
        ("a", 1),
        ("b", 5),
        ("▁a", 5),
        ("ab", 4),
        ("<0x0A>", 6),
    ];
    let piece = |&(text, kind): &(&str, u8)| {
        field(1, &[field(1, text.as_bytes()), vec![0x15, 0, 0, 0x80, kind, 0x18, kind]].concat())
    };
    // One unit of a trie and a replacement; spaces kept.
    let charsmap = [&[4, 0, 0, 0, 0x61, 0x05, 0, 0][..], b"x\0"].concat();
    let tail = [field(2, &[0x18, 2]), field(3, &[field(2, &charsmap), vec![0x20, 0]].concat())].concat();
    let model: Vec<u8> = pieces.iter().flat_map(piece).chain(tail).collect();
    assert!(
        pumice_models::TextTokenizer::from_sentencepiece(Path::new("m"), &model, &Default::default()).is_ok()
    );
    let words = [
        "\u{12}\u{2}\u{18}\u{1}",
        "\u{1a}\u{2}\u{18}\u{0}",
        "\u{12}\u{3}\u{98}\u{2}",
        "\u{7f}",
        "\n\u{3}\n\u{1}a",
        "▁▁",
    ];
    let mut mutator = Mutator::new(16, vec![model], &words);
    within_memory(LIMIT_KIB, || {
        for _ in 0..RUNS / 2 {
            fuzz_sentencepiece(&mutator.generate());
        }
    });
}

#[test]
fn vocabularies_survive_damage() {
    let _alone = alone();
    let pieces = "llama\n2<unk>\n3<s>\n3</s>\n1▁\n1a\n1b\n1▁a\n1ab\n4<|x|>\n6<0x0A>\n6<0x61>";
    let letters = "gpt2 gpt-2\n3<s>\n3</s>\n1a\n1b\n1Ġ\n1ab\n1Ġa\n4<|x|>\n\na b\nĠ a";
    let words =
        ["\n", "4", "3", "gpt2 deepseek-llm", "gpt2 llama3", "llama ", "a b", "<s>", "▁", "\n\n", "Ġ"];
    let corpus = [pieces, letters].map(|text| text.as_bytes().to_vec()).to_vec();
    use_quietly(50_000, Mutator::new(17, corpus, &words), fuzz_vocabulary);
}
