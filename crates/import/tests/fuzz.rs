//! A million damaged files through each reader: no panic, memory bounded.

use pumice_import::fuzz::{Mutator, fuzz_index, fuzz_safetensors};

const RUNS: u32 = 1_000_000;

fn header(text: &str, data: usize) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(bytes.len() + data, 7);
    bytes
}

/// Peak resident memory of this process in KiB, where the system tells it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Headers with the number of data bytes that they describe.
const SOUND: [(&str, usize); 3] = [
    (r#"{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#, 24),
    (
        r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[],"data_offsets":[0,2]},"b.c":{"dtype":"I64","shape":[0,9],"data_offsets":[2,2]},"d":{"dtype":"BOOL","shape":[3],"data_offsets":[2,5]}}  "#,
        5,
    ),
    ("{}", 0),
];

const WORDS: [&str; 9] = [
    "\"dtype\":",
    "\"F8_E4M3\"",
    "\"shape\":[",
    "\"data_offsets\":[0,0]",
    "__metadata__",
    "[[[[",
    "{\"a\":",
    "\\u0000",
    "\"a\"",
];

fn assert_bounded(before: Option<u64>) {
    if let (Some(before), Some(after)) = (before, peak_kib()) {
        assert!(
            after - before < 64 << 10,
            "peak memory grew by {} KiB over inputs of under 2 KiB",
            after - before
        );
    }
}

#[test]
fn safetensors_reader_survives_a_million_files() {
    let corpus = SOUND.iter().map(|(text, data)| header(text, *data)).collect();
    let mut mutator = Mutator::new(1, corpus, &WORDS);
    let before = peak_kib();
    for _ in 0..RUNS {
        fuzz_safetensors(&mutator.generate());
    }
    assert_bounded(before);
}

/// The damage is in the header's text, its length is right: what lies behind the first check is reached.
#[test]
fn safetensors_reader_survives_a_million_headers() {
    let corpus = SOUND.iter().map(|(text, _)| text.as_bytes().to_vec()).collect();
    let mut mutator = Mutator::new(3, corpus, &WORDS);
    let before = peak_kib();
    for run in 0..RUNS {
        let text = mutator.generate();
        let mut file = (text.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(&text);
        file.resize(file.len() + [24, 5, 0][run as usize % 3], 7);
        fuzz_safetensors(&file);
    }
    assert_bounded(before);
}

#[test]
fn index_reader_survives_a_million_files() {
    let corpus = vec![
        br#"{"metadata":{"total_size":22},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}}"#
            .to_vec(),
        br#"{"weight_map":{}}"#.to_vec(),
    ];
    let mut mutator =
        Mutator::new(2, corpus, &["\"weight_map\":", "\"a\":", "{{{{", "[[[[", "\"../x\"", "\\ud800"]);
    for _ in 0..RUNS {
        fuzz_index(&mutator.generate());
    }
}
