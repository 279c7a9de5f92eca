//! Language models to GGUF files: of what is read nothing but the encoding changes, whatever the number of files.

use pumice_import::{GgufModel, GgufValue, GgufWriter, WeightSource};
use pumice_models::{Conversion, LanguageModel, LanguageOptions, QUANTIZATIONS};
use pumice_types::{DType, Encoding, Scheme};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A folder of its own for a test, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("pumice-convert-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Scratch(path)
    }

    /// Writes a conversion as a file of this name.
    fn write(&self, name: &str, conversion: &Conversion) -> PathBuf {
        let path = self.0.join(name);
        conversion.write(&mut File::create(&path).expect("made"), |_, _| {}).expect("written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A model of tests/data/tiny_decoders.
fn tiny(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny_decoders").join(name)
}

fn values(file: &GgufModel, name: &str) -> Vec<f32> {
    let tensor = file.load(name).expect("read");
    tensor.encoding().decode(tensor.bytes()).expect("floats")
}

/// What a model is, without the numbers by which files say how they are written.
fn metadata(file: &GgufModel) -> Vec<(String, GgufValue)> {
    let written = ["general.file_type", "general.quantization_version"];
    let kept = |key: &str| !key.starts_with("split.") && !written.contains(&key);
    let of_model = file.metadata().iter().filter(|(key, _)| kept(key));
    of_model.map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

/// The largest error of a value of each encoding, as a share of the largest value of a row.
fn bound(encoding: Encoding) -> f32 {
    match encoding {
        Encoding::Plain(DType::F32) => 0.0,
        Encoding::Plain(_) => 1.0 / 256.0,
        Encoding::Blocks(Scheme::Q8_0) => 1.0 / 200.0,
        Encoding::Blocks(Scheme::Q6_K) => 1.0 / 32.0,
        Encoding::Blocks(Scheme::Q5_0 | Scheme::Q5_K) => 1.0 / 15.0,
        _ => 1.0 / 7.0,
    }
}

#[test]
fn a_file_changes_nothing_but_its_encodings() {
    let (scratch, source) = (Scratch::new("file"), tiny("llama").join("model.gguf"));
    let original = GgufModel::open(&source).expect("opened");
    for asked in QUANTIZATIONS {
        let conversion = Conversion::open(&source, asked).expect("planned");
        let path = scratch.write(&format!("{asked}.gguf"), &conversion);
        let file = GgufModel::open(&path).expect("opened");
        assert_eq!(metadata(&file), metadata(&original));
        assert_eq!(file.names(), original.names());
        for tensor in conversion.tensors() {
            let info = file.describe(&tensor.name).expect("there");
            assert_eq!((info.encoding, &info.shape), (tensor.to, &tensor.shape), "{}", tensor.name);
            let row = *tensor.shape.last().expect("a row") as usize;
            let (before, after) = (values(&original, &tensor.name), values(&file, &tensor.name));
            for (a, b) in before.chunks(row).zip(after.chunks(row)) {
                let most = a.iter().fold(0f32, |m, x| m.max(x.abs()));
                let worst = a.iter().zip(b).fold(0f32, |m, (x, y)| m.max((x - y).abs()));
                assert!(worst <= bound(tensor.to) * most, "{asked} {}: {worst} of {most}", tensor.name);
            }
        }
        let model = LanguageModel::open(&path, &LanguageOptions::default()).expect("read");
        model.model().expect("a graph over all tensors");
    }
}

#[test]
fn norms_stay_and_tokens_are_finer() {
    let conversion =
        Conversion::open(tiny("llama").join("model.gguf"), Scheme::Q4_0.into()).expect("planned");
    let of = |name: &str| {
        let tensor = conversion.tensors().iter().find(|t| t.name == name).expect("there");
        (tensor.to.name(), tensor.why.is_some())
    };
    assert_eq!(of("blk.0.attn_norm.weight"), ("f32", false));
    assert_eq!(of("blk.1.ffn_gate.weight"), ("q4_0", false));
    // Rows of 64 are no whole blocks of q6_k.
    assert_eq!([of("token_embd.weight"), of("output.weight")], [("q8_0", true); 2]);
}

/// What was in blocks gets worse twice, which is said; what stays is copied byte for byte.
#[test]
fn what_is_quantized_already_is_said() {
    let (scratch, source) = (Scratch::new("twice"), tiny("llama").join("model.gguf"));
    let conversion = Conversion::open(source, Scheme::Q8_0.into()).expect("planned");
    assert!(conversion.notes.is_empty());
    let q8 = scratch.write("q8_0.gguf", &conversion);
    let again = Conversion::open(&q8, Scheme::Q4_0.into()).expect("planned");
    assert!(again.notes[0].0.contains("are quantized already"), "{:?}", again.notes);
    let same = scratch.write("same.gguf", &Conversion::open(&q8, Scheme::Q8_0.into()).expect("planned"));
    assert!(fs::read(q8).expect("read") == fs::read(same).expect("read"), "the same bytes");
}

/// Shards are one model: the first has the metadata, each a tensor at least, and the bytes are those of one file.
#[test]
fn shards_are_one_model() {
    let scratch = Scratch::new("shards");
    let conversion =
        Conversion::open(tiny("llama").join("model.gguf"), Scheme::Q8_0.into()).expect("planned");
    let whole = GgufModel::open(scratch.write("whole.gguf", &conversion)).expect("opened");
    let all = conversion.tensors().len() as u16;
    for count in [2, 3, all - 1, all] {
        let path = |shard: u16| scratch.0.join(format!("s-{:05}-of-{count:05}.gguf", shard + 1));
        for shard in 0..count {
            let mut file = File::create(path(shard)).expect("made");
            conversion.write_shard((shard, count), &mut file, |_, _| {}).expect("written");
        }
        let shards = GgufModel::open(path(0)).expect("opened");
        assert_eq!(metadata(&shards), metadata(&whole));
        assert_eq!(shards.paths().len(), usize::from(count));
        for name in whole.names() {
            assert_eq!(shards.load(name).expect("read"), whole.load(name).expect("read"), "{name}");
        }
        let again =
            scratch.write("again.gguf", &Conversion::open(path(0), Scheme::Q8_0.into()).expect("planned"));
        assert!(fs::read(again).expect("read") == fs::read(scratch.0.join("whole.gguf")).expect("read"));
    }
}

#[test]
fn a_shard_that_there_is_not_is_refused() {
    let conversion =
        Conversion::open(tiny("llama").join("model.gguf"), Scheme::Q8_0.into()).expect("planned");
    for (number, count) in [(3, 2), (2, 2), (1, 0), (0, 0), (u16::MAX, 1)] {
        let mut written = Vec::new();
        let error =
            conversion.write_shard((number, count), &mut written, |_, _| {}).expect_err("no such shard");
        assert!(error.to_string().contains(&format!("there is no shard {number} among {count}")), "{error}");
        assert!(written.is_empty());
    }
}

/// By what importance the encodings of the file that was read were chosen says nothing of another file's.
#[test]
fn keys_about_the_file_that_was_read_stay_behind() {
    let (scratch, source) = (Scratch::new("imatrix"), tiny("llama").join("model.gguf"));
    let original = GgufModel::open(&source).expect("opened");
    let mut writer = GgufWriter::new();
    let kept = original.metadata().iter().map(|(key, value)| (key.to_owned(), value.clone()));
    let of_file = [
        ("quantize.imatrix.file".to_owned(), "groups.gguf".into()),
        ("quantize.imatrix.entries_count".to_owned(), 14i32.into()),
    ];
    kept.chain(of_file).for_each(|(key, value)| writer.metadata(&key, value).expect("new"));
    for name in original.names() {
        let info = original.describe(name).expect("there");
        writer.tensor(name, info.encoding, &info.shape).expect("new");
    }
    let path = scratch.0.join("imatrix.gguf");
    let mut file = File::create(&path).expect("made");
    writer.write(&mut file, |name, at, piece| original.read_at(name, at, piece)).expect("written");
    let conversion = Conversion::open(&path, Scheme::Q8_0.into()).expect("planned");
    let written = GgufModel::open(scratch.write("q8_0.gguf", &conversion)).expect("opened");
    assert_eq!(metadata(&written), metadata(&original));
}

#[test]
fn what_is_not_written_is_refused() {
    let source = tiny("llama").join("model.gguf");
    let Err(error) = Conversion::open(source, Scheme::IQ4_NL.into()) else { panic!("not written") };
    assert!(error.to_string().contains("iq4_nl") && error.to_string().contains("q4_k"), "{error}");
}

/// Families whose folder and file, by llama.cpp's converter, are among the data.
const FAMILIES: [&str; 19] = [
    "cohere",
    "falcon3",
    "gemma2",
    "gemma3_4b",
    "glm4",
    "gpt2",
    "granite",
    "llama",
    "llama3",
    "llama_bias",
    "ministral3",
    "olmo2",
    "phi",
    "phi3",
    "qwen25",
    "qwen3",
    "smollm3",
    "stablelm",
    "stablelm12",
];

/// Folders become what llama.cpp's converter makes of them: the same tensors under the same names, the same settings.
/// Both are of tests/reference/tiny_decoders.py and tiny_decoders_gguf.py.
#[test]
fn folders_become_what_the_public_converter_makes() {
    let scratch = Scratch::new("folders");
    let sorted = |file: &GgufModel| {
        let mut names: Vec<String> = file.names().into_iter().map(str::to_owned).collect();
        names.sort();
        names
    };
    for name in FAMILIES {
        let conversion = Conversion::open(tiny(name), DType::BF16.into());
        let conversion = conversion.unwrap_or_else(|e| panic!("{name}: {e}"));
        let (path, theirs) = (scratch.write("ours.gguf", &conversion), tiny(name).join("model.gguf"));
        let (ours, public) =
            (GgufModel::open(&path).expect("ours"), GgufModel::open(&theirs).expect("theirs"));
        assert_eq!(sorted(&ours), sorted(&public), "{name}");
        for tensor in public.names() {
            let shape = |file: &GgufModel| file.describe(tensor).expect("there").shape;
            assert_eq!(shape(&ours), shape(&public), "{name} {tensor}");
            // The converter computes factors of angles in f32.
            let bound = if tensor == "rope_freqs.weight" { 1e-5 } else { 0.0 };
            let (ours, theirs) = (values(&ours, tensor), values(&public, tensor));
            let close = ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() <= bound * b.abs());
            assert!(close, "{name} {tensor}");
        }
        let config = |path: &Path| {
            let mut config = LanguageModel::open(path, &LanguageOptions::default()).expect("read").config;
            config.end_of_sequence.clear();
            config
        };
        assert_eq!(config(&path), config(&theirs), "{name}");
    }
}

/// YaRN is written as the configuration has it, of every family; what comes out is read again and compared.
#[test]
fn yarn_of_a_folder_is_in_its_file() {
    let scratch = Scratch::new("yarn");
    fs::copy(tiny("qwen25").join("model.safetensors"), scratch.0.join("model.safetensors")).expect("copied");
    let config = fs::read_to_string(tiny("qwen25").join("config.json")).expect("read");
    let write = |scaling: &str| {
        let said = format!("\"rope_scaling\": {{\"type\": \"yarn\", \"factor\": 4.0, {scaling}}}");
        fs::write(scratch.0.join("config.json"), config.replace("\"rope_scaling\": null", &said))
            .expect("written");
        Conversion::open(&scratch.0, DType::BF16.into())
    };
    let conversion = write("\"original_max_position_embeddings\": 32").expect("planned");
    let file = GgufModel::open(scratch.write("yarn.gguf", &conversion)).expect("opened");
    let number = |key: &str| file.metadata().get(&format!("qwen2.rope.scaling.{key}"))?.number();
    assert_eq!(file.metadata().str("qwen2.rope.scaling.type").expect("there"), "yarn");
    assert_eq!([number("factor"), number("original_context_length")], [Some(4.0), Some(32.0)]);
    assert_eq!(number("yarn_beta_fast"), None);
    // Files of this architecture have no key for it.
    let refused = write("\"original_max_position_embeddings\": 32, \"attention_factor\": 1.5");
    let error = refused.err().expect("refused").to_string();
    assert!(error.contains("rotary positions"), "{error}");
}

#[test]
fn folders_that_no_file_can_say_are_refused_by_name() {
    for (name, said) in [
        ("mistral", "is of Mistral"),
        ("gemma3", "an attention"),
        ("qwen2", "windows"),
        ("phi_norms", "an attention"),
        ("phi4", "rotary positions"),
    ] {
        let Err(error) = Conversion::open(tiny(name), DType::F16.into()) else { panic!("{name} is written") };
        assert!(error.to_string().contains(said), "{name}: {error}");
    }
}
