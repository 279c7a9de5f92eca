//! A Llama-shaped GGUF file from end to end: written, read, compiled, run. With weights in blocks it says what the same
//! file says with the values of those blocks as f32, on every kind of device.

use pumice_compile::Options;
use pumice_import::{GgufFile, GgufWriter, SeededWeights, WeightSource};
use pumice_models::{CacheType, LanguageModel, LanguageOptions, ModelError, specialize};
use pumice_runtime::Executable;
use pumice_tests::Fixture;
use pumice_types::{DType, Encoding, Scheme, TensorView};
use std::fs::{self, File};
use std::path::PathBuf;

const HIDDEN: u64 = 256;
const FEED: u64 = 512;
const VOCAB: u64 = 320;
const LAYERS: u64 = 2;
const KEYS: u64 = 128;
const PROMPT: [i32; 11] = [7, 250, 3, 99, 0, 31, 64, 200, 128, 1, 319];
const TOKENS: u64 = 12;

/// The tensors of a file, each in an encoding of its own: every scheme occurs, and every float dtype.
fn tensors(tied: bool) -> Vec<(String, Encoding, Vec<u64>)> {
    let mut encodings =
        Scheme::ALL.map(Encoding::Blocks).into_iter().chain([DType::F16.into(), DType::BF16.into()]).cycle();
    let mut all = vec![("token_embd.weight".to_owned(), Scheme::Q8_0.into(), vec![VOCAB, HIDDEN])];
    for i in 0..LAYERS {
        let mut matrix = |name: &str, out: u64, into: u64| {
            let encoding = encodings.next().expect("they go round");
            all.push((format!("blk.{i}.{name}.weight"), encoding, vec![out, into]));
        };
        matrix("attn_q", HIDDEN, HIDDEN);
        matrix("attn_k", KEYS, HIDDEN);
        matrix("attn_v", KEYS, HIDDEN);
        matrix("attn_output", HIDDEN, HIDDEN);
        matrix("ffn_gate", FEED, HIDDEN);
        matrix("ffn_up", FEED, HIDDEN);
        matrix("ffn_down", HIDDEN, FEED);
        for norm in ["attn_norm", "ffn_norm"] {
            all.push((format!("blk.{i}.{norm}.weight"), DType::F32.into(), vec![HIDDEN]));
        }
    }
    all.push(("output_norm.weight".to_owned(), DType::F32.into(), vec![HIDDEN]));
    all.extend((!tied).then(|| ("output.weight".to_owned(), Scheme::Q6_K.into(), vec![VOCAB, HIDDEN])));
    all
}

fn writer() -> GgufWriter {
    let mut w = GgufWriter::new();
    let mut text = |key: &str, value: &str| w.metadata(key, value).expect("new");
    text("general.architecture", "llama");
    text("general.name", "toy");
    let counts = [
        ("block_count", LAYERS),
        ("context_length", 64),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", FEED),
        ("attention.head_count", 4),
        ("attention.head_count_kv", 2),
    ];
    for (key, value) in counts {
        w.metadata(&format!("llama.{key}"), value as u32).expect("new");
    }
    w.metadata("llama.attention.layer_norm_rms_epsilon", 1e-5f32).expect("new");
    w
}

/// A file of its own for each test.
fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("llama");
    fs::create_dir_all(&folder).expect("a folder");
    folder.join(format!("{name}.gguf"))
}

/// Writes the file twice: as it is, and with the values of its blocks as f32.
fn files(name: &str, tied: bool) -> [PathBuf; 2] {
    let (stored, plain) = (path(name), path(&format!("{name}-f32")));
    let mut seeded = SeededWeights::new(11);
    let (mut own, mut wide) = (writer(), writer());
    for (name, encoding, shape) in tensors(tied) {
        seeded.add(&name, encoding, &shape).expect("makeable");
        own.tensor(&name, encoding, &shape).expect("new");
        wide.tensor(&name, DType::F32, &shape).expect("new");
    }
    let mut out = File::create(&stored).expect("a file");
    own.write(&mut out, |name, at, piece| seeded.read_at(name, at, piece)).expect("written");
    let values = |name: &str| -> Vec<u8> {
        let tensor = seeded.load(name).expect("made");
        let values = tensor.encoding().decode(tensor.bytes()).expect("floats");
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    };
    let mut out = File::create(&plain).expect("a file");
    let fill = |name: &str, at: u64, piece: &mut [u8]| {
        piece.copy_from_slice(&values(name)[at as usize..][..piece.len()]);
        Ok(())
    };
    wide.write(&mut out, fill).expect("written");
    [stored, plain]
}

fn load(fixture: &Fixture, path: &PathBuf) -> Executable {
    let options = LanguageOptions::default().cache(CacheType::F32);
    let file = LanguageModel::open(path, &options).expect("a model");
    fixture.model(&file.model().expect("a graph"), &Options::default().specializations(specialize::decoder()))
}

/// Logits after the prompt, and the tokens that follow.
fn run(exe: &Executable) -> (Vec<f32>, Vec<i32>) {
    let mut session = exe.session().expect("a session");
    let out = session.run(&[("ids", TensorView::i32(&PROMPT, [1, PROMPT.len() as u64]))]).expect("runs");
    let logits = out.get("logits").expect("there").to_vec::<f32>().expect("f32");
    session.run_steps(&[("ids", TensorView::i32(&[-1], [1, 1]))], TOKENS as u32).expect("runs");
    let from = PROMPT.len() as u64;
    let history = session.state("history").expect("there").read_range(1, from..from + TOKENS).expect("rows");
    (logits, history.to_vec().expect("i32"))
}

/// Blocks and their values: logits within 1e-4 of their range, the same tokens.
fn agree(fixture: &Fixture, name: &str, tied: bool) {
    let [stored, plain] = files(name, tied);
    let (exe, twin) = (load(fixture, &stored), load(fixture, &plain));
    let ((logits, ids), (expected, wanted)) = (run(&exe), run(&twin));
    let (low, high) = expected.iter().fold((f32::MAX, f32::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    let worst = logits.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst <= 1e-4 * (high - low), "{worst} of {}", high - low);
    assert_eq!(ids, wanted);
    // Weights in blocks are read where they lie; what f16 and bf16 become for products is derived.
    let stored: u64 =
        GgufFile::open(&stored).expect("open").tensors().filter_map(|(_, t)| t.bytes).map(|b| b.0).sum();
    let (own, wide) = (weights(&exe), weights(&twin));
    assert!(own >= stored && own < wide, "{own} bytes of weights for {stored} in the file, {wide} as f32");
}

fn weights(exe: &Executable) -> u64 {
    exe.plan().region_size(pumice_plan::RegionKind::Weights).0
}

#[test]
fn blocks_say_what_their_values_say_on_the_interpreter() {
    agree(&Fixture::interpreter(), "interpreter", false);
}

#[test]
fn a_file_that_asks_for_more_is_refused_by_key_or_tensor() {
    let refused = |name: &str, change: &dyn Fn(&mut GgufWriter), says: &str| {
        let mut w = writer();
        change(&mut w);
        for (name, encoding, shape) in tensors(true) {
            w.tensor(&name, encoding, &shape).expect("new");
        }
        let path = path(name);
        let zero = |_: &str, _: u64, piece: &mut [u8]| {
            piece.fill(0);
            Ok(())
        };
        w.write(&mut File::create(&path).expect("a file"), zero).expect("written");
        let error = LanguageModel::open(&path, &LanguageOptions::default()).and_then(LanguageModel::model);
        let error = error.err().expect("refused");
        assert!(error.to_string().contains(says), "{error}");
    };
    refused(
        "scaled",
        &|w| w.metadata("llama.rope.scaling.type", "linear").expect("new"),
        "llama.rope.scaling.type",
    );
    refused("experts", &|w| w.metadata("llama.expert_count", 8u32).expect("new"), "llama.expert_count");
    let bias = |w: &mut GgufWriter| w.tensor("blk.0.attn_q.bias", DType::F32, &[HIDDEN]).expect("new");
    refused("bias", &bias, ".bias");
}

#[test]
fn a_context_beyond_the_trained_one_is_refused() {
    let [stored, _] = files("context", true);
    let error = LanguageModel::open(&stored, &LanguageOptions::default().context(65)).err().expect("refused");
    assert!(matches!(error, ModelError::Option { option: "context", .. }), "{error}");
    assert!(LanguageModel::open(&stored, &LanguageOptions::default().context(64)).is_ok());
}

mod on_device {
    use super::*;

    #[test]
    fn blocks_say_what_their_values_say() {
        agree(&Fixture::vulkan(), "device", true);
    }

    /// With the kernels that a large GPU selects.
    #[test]
    fn blocks_say_what_their_values_say_to_a_gpu() {
        agree(&Fixture::shadowed(), "shadowed", false);
    }
}
