//! Encoders on the evaluator against golden embeddings: sentence-transformers in f64 for the tiny folders, plain numpy
//! for MiniLM. What differs here is the graph or the reader, never a kernel.

use pumice_cpu_ref::array::Array;
use pumice_cpu_ref::graph::{EvalOptions, Evaluation};
use pumice_cpu_ref::session::RefSession;
use pumice_import::{Model, SafetensorsFile, WeightSource};
use pumice_models::{EncoderFolder, EncoderOptions, Pooling, SentenceOverrides, TokenBatch};
use pumice_types::{Bindings, DType, Tensor};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Acceptance of an embedding: A2.
const MAX_DIFFERENCE: f64 = 1e-4;
const MIN_COSINE: f64 = 0.99999;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

fn sentences() -> Vec<String> {
    let text = std::fs::read_to_string(data().join("minilm/sentences.txt")).expect("checked in");
    text.lines().map(str::to_owned).collect()
}

fn golden(path: &Path) -> (Vec<f32>, usize) {
    let tensor = SafetensorsFile::open(path).expect("checked in").load("embeddings").expect("in the file");
    (tensor.to_vec().expect("f32"), tensor.shape()[1] as usize)
}

/// A model with its weights in the evaluator's form.
struct Loaded {
    model: Model,
    params: BTreeMap<String, Arc<Array>>,
}

impl Loaded {
    fn new(model: Model) -> Loaded {
        let load = |name: &str| Arc::new(Array::from_tensor(&model.weights.load(name).expect("checked")));
        let params = model.weights.names().into_iter().map(|n| (n.to_owned(), load(n))).collect();
        Loaded { model, params }
    }

    fn embed(&self, tokens: &TokenBatch) -> Vec<f64> {
        self.run(tokens).outputs[0].to_f64()
    }

    fn run(&self, tokens: &TokenBatch) -> Evaluation {
        let graph = &self.model.graph;
        let mut bindings = Bindings::new();
        for (id, symbol) in graph.symbols().iter() {
            bindings.bind(id, if symbol.name == "batch" { tokens.batch } else { tokens.seq } as u64);
        }
        let tensor = |values: &[i32], shape: &[u64]| {
            Arc::new(Array::from_tensor(&Tensor::new(values, shape).expect("fits")))
        };
        let ids = tensor(&tokens.ids, &[tokens.batch as u64, tokens.seq as u64]);
        let lengths = tensor(&tokens.lengths, &[tokens.batch as u64]);
        let params = |name: &str| self.params.get(name).cloned();
        let mut session =
            RefSession::new(graph, &params, EvalOptions::default()).expect("every param is there");
        let inputs = |name: &str| match name {
            "ids" => Some(ids.clone()),
            "lengths" => Some(lengths.clone()),
            _ => None,
        };
        session.run(&inputs, &bindings).expect("evaluates")
    }
}

/// Largest difference and smallest cosine over the rows.
fn compare(got: &[f64], want: &[f32], width: usize) -> (f64, f64) {
    assert_eq!(got.len(), want.len());
    let worst = got.iter().zip(want).map(|(g, w)| (g - f64::from(*w)).abs()).fold(0.0, f64::max);
    let rows = got.chunks(width).zip(want.chunks(width));
    let cosine = |(g, w): (&[f64], &[f32])| {
        let dot = |f: &dyn Fn(usize) -> f64| (0..width).map(f).sum::<f64>();
        let gw = dot(&|i| g[i] * f64::from(w[i]));
        gw / (dot(&|i| g[i] * g[i]) * dot(&|i| f64::from(w[i]) * f64::from(w[i]))).sqrt()
    };
    (worst, rows.map(cosine).fold(1.0, f64::min))
}

fn assert_close(what: &str, got: &[f64], want: &[f32], width: usize) {
    let (worst, cosine) = compare(got, want, width);
    println!("{what}: largest difference {worst:.2e}, smallest cosine {cosine:.9}");
    assert!(worst <= MAX_DIFFERENCE && cosine >= MIN_COSINE, "{what}: {worst} {cosine}");
}

/// Every sentence in batches of 1 to 13, so rows of all lengths share a batch with longer ones.
#[test]
fn tiny_folders_agree_with_sentence_transformers() {
    for name in ["bert", "roberta", "xlmr", "distilbert"] {
        let path = data().join("tiny").join(name);
        let folder = EncoderFolder::open(&path, &SentenceOverrides::default()).expect("sound");
        let tokenizer = folder.tokenizer().expect("sound");
        let model = Loaded::new(folder.model(&EncoderOptions::default()).expect("sound"));
        let texts = sentences();
        let (mut got, mut rest, mut size) = (Vec::new(), texts.as_slice(), 1);
        while !rest.is_empty() {
            let (batch, tail) = rest.split_at(size.min(rest.len()));
            got.extend(model.embed(&tokenizer.encode_batch(batch).expect("encodes")));
            (rest, size) = (tail, size % 13 + 3);
        }
        let (want, width) = golden(&path.join("golden.safetensors"));
        assert_close(name, &got, &want, width);
    }
}

/// What stands after a row's length has no effect, to the bit.
#[test]
fn padding_has_no_effect() {
    let path = data().join("tiny/roberta");
    for pooling in [Pooling::Mean, Pooling::Cls, Pooling::Max] {
        let overrides = SentenceOverrides::default().pooling(Some(pooling));
        let folder = EncoderFolder::open(&path, &overrides).expect("sound");
        let model = Loaded::new(folder.model(&EncoderOptions::default()).expect("sound"));
        let rows: [&[i32]; 3] = [&[0, 50, 60, 70, 2], &[0, 2], &[0, 9, 2]];
        let plain = model.embed(&TokenBatch::pack(&rows, 1));
        assert_eq!(plain, model.embed(&TokenBatch::pack(&rows, 77)), "{pooling}");
        let alone = model.embed(&TokenBatch::pack(&rows[1..2], 1));
        assert_eq!(plain[alone.len()..2 * alone.len()], alone, "{pooling}");
        assert!(plain.iter().all(|v| v.is_finite()));
    }
}

/// A row without tokens gives zeros, not a division by zero.
#[test]
fn a_row_without_tokens_gives_zeros() {
    let folder = EncoderFolder::open(data().join("tiny/bert"), &SentenceOverrides::default()).expect("sound");
    let model = Loaded::new(folder.model(&EncoderOptions::default()).expect("sound"));
    let rows: [&[i32]; 2] = [&[], &[2, 50, 3]];
    let got = model.embed(&TokenBatch::pack(&rows, 0));
    assert!(got[..32].iter().all(|&v| v == 0.0) && got[32..].iter().any(|&v| v != 0.0));
}

/// The evaluator is slow, so the shorter sentences; the devices run all of them.
#[test]
#[ignore = "model: the MiniLM folder, named by PUMICE_MINILM"]
fn minilm_agrees_with_numpy() {
    let path = std::env::var_os("PUMICE_MINILM").expect("PUMICE_MINILM names the model's folder");
    let folder = EncoderFolder::open(path, &SentenceOverrides::default()).expect("sound");
    let tokenizer = folder.tokenizer().expect("sound");
    let model = Loaded::new(folder.model(&EncoderOptions::default()).expect("sound"));
    assert!(model.params.values().all(|p| p.dtype == DType::F32));
    let (want, width) = golden(&data().join("minilm/golden.safetensors"));
    let (mut texts, mut expected) = (Vec::new(), Vec::new());
    for (i, text) in sentences().into_iter().enumerate() {
        if text.chars().count() < 60 {
            texts.push(text);
            expected.extend_from_slice(&want[i * width..(i + 1) * width]);
        }
    }
    let got = model.embed(&tokenizer.encode_batch(&texts).expect("encodes"));
    assert_close("minilm", &got, &expected, width);
}
