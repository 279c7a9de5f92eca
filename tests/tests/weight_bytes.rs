//! Weights take on the device what they take in the file (F3): region `weights` of whole models against the bytes of
//! their tensors, for every profile, and how much of it is copies.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::Graph;
use pumice_models::{
    EncoderFolder, EncoderOptions, LanguageModel, LanguageOptions, SentenceOverrides, specialize,
};
use pumice_plan::{Plan, RegionKind, VersionOrigin};
use pumice_tests::files;
use pumice_types::Target;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Most bytes of the region for each byte of the tensors.
const MOST: f64 = 1.03;

fn plans(graph: &Graph, ranges: Vec<(String, Vec<u64>)>) -> Vec<Plan> {
    let options = Options::default().specializations(ranges);
    let plan = |target| compile(graph, &target, &options, &RefEval).unwrap_or_else(|e| panic!("{e}"));
    [Target::h200(), Target::lavapipe()].map(plan).into()
}

/// Region, params and copies of each plan, in bytes, against those of the tensors.
fn check(what: &str, plans: &[Plan], tensors: u64) {
    for plan in plans {
        let region = plan.region_size(RegionKind::Weights).0;
        let params: u64 = plan.params.iter().map(|p| p.span.len.0).sum();
        let derived = plan.load_programs().flat_map(|p| &p.values);
        let derived = derived.filter(|v| v.origin == VersionOrigin::Derived).map(|v| v.span.len.0);
        let derived: Vec<u64> = derived.collect();
        let (copies, bytes) = (derived.len(), derived.iter().sum::<u64>());
        let ratio = region as f64 / tensors as f64;
        println!(
            "{what} for {}: tensors {tensors}, params {params}, {copies} derived of {bytes}, region {region}: {ratio:.4}",
            plan.target.name
        );
        assert!(ratio <= MOST, "{what} for {}: {ratio}", plan.target.name);
    }
}

/// A folder of a BERT of the size of all-MiniLM-L6-v2 that is stored as f16. Planning needs no weights.
fn minilm_as_f16() -> PathBuf {
    let (from, to) = (
        files::data().join("tiny/bert"),
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("weight_bytes/minilm_f16"),
    );
    fs::create_dir_all(to.join("1_Pooling")).expect("a folder");
    for file in ["modules.json", "sentence_bert_config.json"] {
        fs::copy(from.join(file), to.join(file)).expect("checked in");
    }
    let read = |file: &str| -> Value {
        let text = fs::read_to_string(from.join(file)).expect("checked in");
        serde_json::from_str(&text).expect("JSON")
    };
    let (mut config, mut pooling) = (read("config.json"), read("1_Pooling/config.json"));
    let figures = [
        ("hidden_size", 384),
        ("intermediate_size", 1536),
        ("num_hidden_layers", 6),
        ("num_attention_heads", 12),
        ("max_position_embeddings", 512),
        ("vocab_size", 30_522),
    ];
    figures.iter().for_each(|(name, value)| config[*name] = json!(value));
    pooling["word_embedding_dimension"] = json!(384);
    assert_eq!(config["dtype"], "float16");
    fs::write(to.join("config.json"), config.to_string()).expect("written");
    fs::write(to.join("1_Pooling/config.json"), pooling.to_string()).expect("written");
    to
}

#[test]
fn minilm_stored_as_f16_takes_what_its_tensors_take() {
    let folder = EncoderFolder::open(minilm_as_f16(), &SentenceOverrides::default()).expect("a folder");
    let graph = folder.graph(&EncoderOptions::default()).expect("a graph");
    let plans = plans(&graph, specialize::encoder());
    let bytes = |id: &pumice_ir::ValueId| {
        let ty = graph.ty(*id);
        let extents: u64 = ty.shape.iter().filter_map(|d| d.as_extent()).product();
        assert_eq!(ty.encoding.to_string(), "f16");
        2 * extents
    };
    let tensors = graph.params().iter().map(bytes).sum();
    assert!((40_000_000..50_000_000).contains(&tensors), "22 million weights: {tensors}");
    check("MiniLM stored as f16", &plans, tensors);
}

mod with_smollm2 {
    use super::*;

    #[test]
    fn smollm2_takes_what_its_tensors_take() {
        let path = files::smollm2().expect("SmolLM2-135M-Instruct (PUMICE_SMOLLM2, or `cargo xtask demo`)");
        let file = pumice_import::GgufFile::open(&path).expect("a file");
        let tensors = file.tensors().map(|(_, t)| t.bytes.expect("an encoding that is read").0).sum();
        let model = LanguageModel::open(&path, &LanguageOptions::default().context(Some(512)));
        let model = model.and_then(LanguageModel::model).expect("a model");
        check("SmolLM2", &plans(&model.graph, specialize::decoder()), tensors);
    }
}
