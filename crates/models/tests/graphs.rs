//! Graphs and weights fit together: every parameter has its tensor, and what does not fit is named.

use pumice_import::{FormatProblem, ImportError, MemoryWeights, SafetensorsFile, WeightSource};
use pumice_models::decoder::{self, DecoderConfig};
use pumice_models::offline::OfflineEncoder;
use pumice_models::{EncoderFolder, EncoderOptions, ModelError, SentenceOverrides};
use pumice_types::{DType, Tensor};
use std::path::{Path, PathBuf};

fn tiny(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny").join(name)
}

fn open(name: &str) -> EncoderFolder {
    EncoderFolder::open(tiny(name), &SentenceOverrides::default()).expect("sound")
}

/// The weights of a tiny folder in memory, for a test to change.
fn loaded(name: &str) -> Vec<(String, Tensor)> {
    let file = SafetensorsFile::open(&tiny(name).join("model.safetensors")).expect("sound");
    file.names().iter().map(|n| ((*n).to_owned(), file.load(n).expect("there"))).collect()
}

fn model_of(name: &str, weights: Vec<(String, Tensor)>) -> Result<(), ModelError> {
    let weights = MemoryWeights::from_iter(weights);
    open(name).model_from(Box::new(weights), &EncoderOptions::default()).map(|_| ())
}

#[test]
fn every_parameter_has_its_tensor() {
    for (name, stored, params) in [
        ("bert", DType::F16, 37),
        ("roberta", DType::F32, 37),
        ("xlmr", DType::F32, 37),
        ("distilbert", DType::F32, 36),
    ] {
        let model = open(name).model(&EncoderOptions::default()).expect("sound");
        assert_eq!(model.graph.params().len(), params, "{name}");
        for id in model.graph.params() {
            let value = model.graph.value(id);
            let info = model.weights.describe(&value.name).expect("there");
            assert_eq!(
                (info.encoding, Some(info.shape)),
                (stored.into(), value.ty.static_shape()),
                "{name} {}",
                value.name
            );
        }
        let planned = open(name).graph(&EncoderOptions::default()).expect("needs no weights");
        assert_eq!(planned, model.graph, "{name}: a plan without weights is the plan with them");
    }
}

#[test]
fn inputs_and_output_have_the_stated_types() {
    let folder = open("distilbert");
    let graph = folder.graph(&EncoderOptions::default().max_batch(8)).expect("builds");
    let types: Vec<String> = graph.inputs().iter().map(|&v| graph.ty(v).display(graph.symbols())).collect();
    assert_eq!(types, ["i32[batch, seq]", "i32[batch]"]);
    let output = &graph.outputs()[0];
    assert_eq!(
        (output.name.as_str(), graph.ty(output.value).display(graph.symbols())),
        ("embedding", "f32[batch, 32]".into())
    );
    let seq = graph.symbols().iter().find(|(_, s)| s.name == "seq").expect("declared").1;
    assert_eq!((seq.min, seq.max), (1, folder.spec.max_tokens));
    assert!(matches!(folder.graph(&EncoderOptions::default().max_batch(0)), Err(ModelError::Option { .. })));
}

#[test]
fn prefixes_and_old_names_are_found() {
    let plain = loaded("roberta");
    let renamed =
        |f: &dyn Fn(&str) -> String| plain.iter().map(|(n, t)| (f(n), t.clone())).collect::<Vec<_>>();
    model_of("roberta", renamed(&|n| format!("roberta.{n}"))).expect("the usual prefix");
    model_of("roberta", renamed(&|n| format!("0.auto_model.{n}"))).expect("any other prefix");
    let old = |n: &str| {
        n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    };
    model_of("roberta", renamed(&old)).expect("names of old files");
}

/// Layers are counted before anything is made for each.
#[test]
fn more_layers_than_the_weights_have_are_refused() {
    for (name, field) in [("bert", "num_hidden_layers"), ("distilbert", "n_layers")] {
        let mut folder = open(name);
        folder.config.layers = 500;
        match folder.model(&EncoderOptions::default()).map(|_| ()) {
            Err(ModelError::Field { field: named, problem, .. }) => {
                assert_eq!(
                    (named.as_str(), problem.as_str()),
                    (field, "is 500, and the weights have 2 layers")
                );
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn weights_of_another_model_are_found_out() {
    let mut weights = loaded("bert");
    weights.retain(|(n, _)| n != "encoder.layer.1.output.dense.bias");
    match model_of("bert", weights) {
        Err(e) => assert!(e.to_string().contains("`encoder.layer.1.output.dense.bias`"), "{e}"),
        Ok(()) => panic!("a tensor is missing"),
    }
    let mut weights = loaded("bert");
    for (name, tensor) in &mut weights {
        if name == "embeddings.position_embeddings.weight" {
            *tensor = Tensor::from_bytes(DType::F16, &[63, 32], tensor.bytes()[..63 * 64].to_vec())
                .expect("one row less");
        }
    }
    match model_of("bert", weights) {
        Err(e) => {
            let message = e.to_string();
            assert!(message.contains("position_embeddings") && message.contains("[63, 32]"), "{message}");
        }
        Ok(()) => panic!("a table is too short"),
    }
    let mut weights = loaded("bert");
    for (name, tensor) in &mut weights {
        if name == "embeddings.LayerNorm.bias" {
            *tensor = Tensor::new(&[1i32; 32], &[32]).expect("as many");
        }
    }
    assert!(matches!(model_of("bert", weights), Err(ModelError::Weights(_))));
    assert!(matches!(
        model_of("bert", Vec::new()),
        Err(ModelError::Import(ImportError::UnknownTensor { .. }))
    ));
}

#[test]
fn a_truncated_weight_file_is_named() {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("models-cut-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("1_Pooling")).expect("made");
    for file in ["config.json", "modules.json", "1_Pooling/config.json", "model.safetensors"] {
        std::fs::copy(tiny("bert").join(file), folder.join(file)).expect("copied");
    }
    let file = std::fs::OpenOptions::new().write(true).open(folder.join("model.safetensors")).expect("there");
    file.set_len(20_000).expect("cut");
    let opened =
        EncoderFolder::open(&folder, &SentenceOverrides::default()).expect("weights are not touched yet");
    opened.graph(&EncoderOptions::default()).expect("nor for a plan");
    let error = opened.model(&EncoderOptions::default()).err().expect("cut short");
    let _ = std::fs::remove_dir_all(&folder);
    assert!(
        matches!(
            &error,
            ModelError::Import(ImportError::Safetensors { problem: FormatProblem::Truncated { .. }, .. })
        ),
        "{error}"
    );
}

#[test]
fn the_offline_model_builds_and_tokenizes() {
    let model = OfflineEncoder::new(1, &EncoderOptions::default()).expect("builds");
    model.model.check().expect("seeded weights fit");
    let batch = model
        .tokenizer
        .encode_batch(&["The weather is lovely today.", "He drove to the stadium!"])
        .expect("encodes");
    let unknown = batch.ids.iter().filter(|&&id| id == 1).count();
    assert_eq!((batch.batch, unknown), (2, 0));
    assert_eq!(batch.lengths, [8, 8]);
}

#[test]
fn the_decoders_share_their_parameters() {
    let config = DecoderConfig::tiny();
    let with = decoder::seeded(decoder::decoder_graph("d", &config).expect("builds"), 3).expect("fits");
    let without = decoder::seeded(decoder::recompute_graph("r", &config).expect("builds"), 3).expect("fits");
    assert_eq!(with.weights.names(), without.weights.names());
    for name in with.weights.names() {
        assert_eq!(
            with.weights.load(name).expect("made"),
            without.weights.load(name).expect("made"),
            "{name}"
        );
    }
    assert_eq!(with.graph.states().len(), 2 * 2 + 2);
    let mut wrong = config;
    wrong.layers[1].attention.kv_heads = 3;
    assert!(matches!(
        decoder::decoder_graph("d", &wrong),
        Err(ModelError::Option { option: "kv_heads", .. })
    ));
}
