//! A million damaged files through each reader: no panic, memory bounded.

use pumice_import::fuzz::{Mutator, fuzz_gguf, fuzz_index, fuzz_safetensors, within_memory};
use pumice_import::{GgufModel, GgufStrings, GgufWriteError, GgufWriter, WeightSource};
use pumice_types::{DType, Encoding, Scheme};
use std::fs;
use std::path::PathBuf;

const RUNS: u32 = 1_000_000;

/// By how much peak memory may grow over inputs of under 2 KiB.
const LIMIT_KIB: u64 = 64 << 10;

fn header(text: &str, data: usize) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(bytes.len() + data, 7);
    bytes
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

#[test]
fn safetensors_reader_survives_a_million_files() {
    let corpus = SOUND.iter().map(|(text, data)| header(text, *data)).collect();
    let mut mutator = Mutator::new(1, corpus, &WORDS);
    within_memory(LIMIT_KIB, || {
        for _ in 0..RUNS {
            fuzz_safetensors(&mutator.generate());
        }
    });
}

/// The damage is in the header's text, its length is right: what lies after the first check is reached.
#[test]
fn safetensors_reader_survives_a_million_headers() {
    let corpus = SOUND.iter().map(|(text, _)| text.as_bytes().to_vec()).collect();
    let mut mutator = Mutator::new(3, corpus, &WORDS);
    within_memory(LIMIT_KIB, || {
        for run in 0..RUNS {
            let text = mutator.generate();
            let mut file = (text.len() as u64).to_le_bytes().to_vec();
            file.extend_from_slice(&text);
            file.resize(file.len() + [24, 5, 0][run as usize % 3], 7);
            fuzz_safetensors(&file);
        }
    });
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
    within_memory(LIMIT_KIB, || {
        for _ in 0..RUNS {
            fuzz_index(&mutator.generate());
        }
    });
}

/// The file that a description makes, with data that say nothing.
fn written(writer: &GgufWriter) -> Result<Vec<u8>, GgufWriteError> {
    let mut file = Vec::new();
    writer.write(&mut file, |_, _, piece| {
        piece.fill(7);
        Ok(())
    })?;
    Ok(file)
}

/// Values of every kind, tensors of some; small offsets because of the alignment.
fn small_gguf(alignment: u32, shapes: &[(&str, Encoding, &[u64])]) -> Result<Vec<u8>, GgufWriteError> {
    let mut writer = GgufWriter::new();
    writer.metadata("general.alignment", alignment)?;
    writer.metadata("a.count", 3u64)?;
    writer.metadata("a.flag", true)?;
    writer.metadata("a.name", "n\u{e4}me")?;
    writer.metadata("tokens", ["a", "", "\u{2581}b"].iter().collect::<GgufStrings>())?;
    writer.metadata("scores", vec![0.5f32, -1.0])?;
    writer.metadata("types", vec![1i32, 3])?;
    writer.metadata("flags", vec![true, false])?;
    for (name, encoding, shape) in shapes {
        writer.tensor(name, *encoding, shape)?;
    }
    written(&writer)
}

#[test]
fn gguf_reader_survives_a_million_files() {
    let f32s = Encoding::Plain(DType::F32);
    let shapes: [&[(&str, Encoding, &[u64])]; 3] = [
        &[("w", f32s, &[2, 3]), ("b.c", Scheme::Q4_0.into(), &[2, 32])],
        &[("e", f32s, &[0, 7]), ("s", DType::F16.into(), &[]), ("q", Scheme::Q8_0.into(), &[32])],
        &[],
    ];
    let alignments = [1, 8, 32].into_iter();
    let corpus: Result<Vec<_>, _> = alignments.zip(shapes).map(|(a, s)| small_gguf(a, s)).collect();
    let words = ["GGUF", "\u{9}\0\0\0", "\u{8}\0\0\0", "general.alignment", "\0\0\0\0\0\0\0\0"];
    let mut mutator = Mutator::binary(4, corpus.expect("sound descriptions"), &words);
    within_memory(LIMIT_KIB, || {
        for _ in 0..RUNS {
            fuzz_gguf(&mutator.generate());
        }
    });
}

/// The shard of this number of two.
fn shard(number: u16, tensor: &str) -> Result<Vec<u8>, GgufWriteError> {
    let mut writer = GgufWriter::new();
    writer.metadata("split.no", number)?;
    writer.metadata("split.count", 2u16)?;
    writer.metadata("split.tensors.count", 2i32)?;
    writer.tensor(tensor, Encoding::Plain(DType::F32), &[2, 3])?;
    written(&writer)
}

/// Five hundred thousand (E10): one of two shards is damaged, by parts of the other too.
#[test]
fn shards_survive_damage() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("shards-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a scratch folder can be made");
    let paths = [1, 2].map(|n| folder.join(format!("m-0000{n}-of-00002.gguf")));
    let sound = [shard(0, "a"), shard(1, "b")].map(|file| file.expect("a sound description"));
    let write = |at: usize, bytes: &[u8]| fs::write(&paths[at], bytes).expect("a file can be written");
    (0..2).for_each(|at| write(at, &sound[at]));
    assert_eq!(GgufModel::open(&paths[0]).expect("sound").names().len(), 2);
    let words = ["split.no", "split.count", "split.tensors.count", "\u{2}\0\0\0", "\0\0\0\0\0\0\0\0"];
    let mut mutator = Mutator::binary(5, sound.to_vec(), &words);
    let mut opened = 0;
    within_memory(LIMIT_KIB, || {
        for run in 0..RUNS / 2 {
            // Each shard is damaged for a while, the other one sound.
            let at = (run / 1_000 % 2) as usize;
            if run % 1_000 == 0 {
                write(1 - at, &sound[1 - at]);
            }
            write(at, &mutator.generate());
            let Ok(model) = GgufModel::open(&paths[0]) else { continue };
            opened += 1;
            for name in model.names() {
                let _ = model.load(name);
            }
        }
    });
    let _ = fs::remove_dir_all(&folder);
    assert!(opened > 1_000, "{opened} models opened");
}
