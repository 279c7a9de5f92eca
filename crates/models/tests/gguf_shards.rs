//! A language model in several GGUF files is the model of one; shards that do not belong together are refused.

use pumice_import::{GgufFile, GgufValue, GgufWriter, WeightSource};
use pumice_models::{LanguageModel, LanguageOptions};
use std::fs::File;
use std::path::{Path, PathBuf};

fn whole() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny_decoders/llama/model.gguf")
}

/// What a shard says of itself.
struct Told {
    number: u16,
    count: u16,
    tensors: i32,
}

/// Writes a shard with every third tensor from `from` on, the first with all metadata.
fn write(source: &GgufFile, path: &Path, from: usize, told: &Told) {
    let mut writer = GgufWriter::new();
    if told.number == 0 {
        for (key, value) in source.metadata().iter() {
            writer.metadata(key, value.clone()).expect("new");
        }
    }
    let split: [(&str, GgufValue); 3] = [
        ("split.no", told.number.into()),
        ("split.count", told.count.into()),
        ("split.tensors.count", told.tensors.into()),
    ];
    split.into_iter().for_each(|(key, value)| writer.metadata(key, value).expect("new"));
    for name in source.names().into_iter().skip(from).step_by(3) {
        let info = source.describe(name).expect("there");
        writer.tensor(name, info.encoding, &info.shape).expect("new");
    }
    let mut file = File::create(path).expect("a file");
    writer.write(&mut file, |name, at, piece| source.read_at(name, at, piece)).expect("written");
}

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gguf_shards").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn shard(folder: &Path, number: u16) -> PathBuf {
    folder.join(format!("tiny-{:05}-of-00003.gguf", number + 1))
}

/// All three shards.
fn shards(name: &str) -> (PathBuf, GgufFile) {
    let (folder, source) = (folder(name), GgufFile::open(whole()).expect("opens"));
    let tensors = source.names().len() as i32;
    for number in 0..3 {
        write(&source, &shard(&folder, number), usize::from(number), &Told { number, count: 3, tensors });
    }
    (folder, source)
}

#[test]
fn shards_are_one_model() {
    let (folder, source) = shards("whole");
    let open = |path: &Path| LanguageModel::open(path, &LanguageOptions::default()).expect("opens");
    let (one, many) = (open(&whole()), open(&shard(&folder, 0)));
    assert_eq!(one.config, many.config);
    let model = many.model().expect("it fits");
    assert_eq!(model.graph.params().len(), source.names().len());
    for name in source.names() {
        assert_eq!(model.weights.load(name).expect("read"), source.load(name).expect("read"), "{name}");
    }
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let refused = |name: &str, given: u16, change: &dyn Fn(&Path, &GgufFile)| {
        let (folder, source) = shards(name);
        change(&folder, &source);
        let opened = LanguageModel::open(shard(&folder, given), &LanguageOptions::default());
        opened.err().expect("refused").to_string()
    };
    let tensors = GgufFile::open(whole()).expect("opens").names().len() as i32;
    let second = refused("second", 1, &|_, _| {});
    assert!(second.contains("shard 2 of 3") && second.contains("tiny-00001-of-00003.gguf"), "{second}");
    let missing =
        refused("missing", 0, &|folder, _| std::fs::remove_file(shard(folder, 2)).expect("removed"));
    assert!(missing.contains("tiny-00003-of-00003.gguf"), "{missing}");
    let swapped = refused("swapped", 0, &|folder, source| {
        write(source, &shard(folder, 1), 2, &Told { number: 2, count: 3, tensors });
    });
    assert!(swapped.contains("`split.no` is 2") && swapped.contains("another model"), "{swapped}");
    let twice = refused("twice", 0, &|folder, source| {
        write(source, &shard(folder, 1), 0, &Told { number: 1, count: 3, tensors });
    });
    assert!(twice.contains("is in two shards"), "{twice}");
    let fewer = refused("fewer", 0, &|folder, source| {
        write(source, &shard(folder, 0), 0, &Told { number: 0, count: 3, tensors: tensors + 1 });
    });
    assert!(fewer.contains(&format!("{} belong to the model", tensors + 1)), "{fewer}");
    let renamed = refused("renamed", 0, &|folder, source| {
        write(source, &shard(folder, 0), 0, &Told { number: 0, count: 4, tensors });
    });
    assert!(renamed.contains("must be called NAME-00001-of-00004.gguf"), "{renamed}");
    let many = refused("many", 0, &|folder, source| {
        write(source, &shard(folder, 0), 0, &Told { number: 0, count: 60_000, tensors });
    });
    assert!(many.contains("at most 512"), "{many}");
}
