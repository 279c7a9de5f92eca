//! Folders whose tensors have another prefix than newer ones: a base model saved alone, GPT-2 as it was published.

use pumice_import::{Model, SafetensorsFile, WeightSource};
use pumice_models::{Conversion, LanguageModel, LanguageOptions};
use pumice_types::DType;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny_decoders")
}

/// A copy of a tiny folder without this prefix; with `extra`, a mask of attention beside its tensors.
fn stripped(test: &str, name: &str, prefix: &str, extra: Option<&str>) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("stripped-{test}")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::copy(tiny().join(name).join("config.json"), folder.join("config.json")).expect("copied");
    let bytes = std::fs::read(tiny().join(name).join("model.safetensors")).expect("a file");
    let (len, rest) = bytes.split_at(8);
    let len = u64::from_le_bytes(len.try_into().expect("eight bytes")) as usize;
    let (header, mut data) = (&rest[..len], rest[len..].to_vec());
    let tensors: Map<String, Value> = serde_json::from_slice(header).expect("a header");
    let renamed = tensors
        .into_iter()
        .map(|(name, value)| (name.strip_prefix(prefix).map(str::to_owned).unwrap_or(name), value));
    let mut tensors: Map<String, Value> = renamed.collect();
    if let Some(name) = extra {
        let begins = data.len();
        data.extend([0u8; 16]);
        let place = json!({"dtype": "F32", "shape": [1, 1, 2, 2], "data_offsets": [begins, begins + 16]});
        tensors.insert(name.to_owned(), place);
    }
    let header = Value::from(tensors).to_string();
    let written = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    std::fs::write(folder.join("model.safetensors"), written).expect("written");
    folder
}

fn opened(path: &Path) -> LanguageModel {
    LanguageModel::open(path, &LanguageOptions::default())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn model(path: &Path) -> Model {
    opened(path).model().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Params with their types, by name without the prefix, and the bytes of their tensors.
fn params(model: &Model, prefix: &str) -> Vec<(String, String, Vec<u8>)> {
    let graph = &model.graph;
    let param = |id| {
        let value = graph.value(id);
        let tensor = model.weights.load(&value.name).expect("there");
        let name = value.name.strip_prefix(prefix).unwrap_or(&value.name);
        (name.to_owned(), value.ty.display(graph.symbols()), tensor.bytes().to_vec())
    };
    graph.params().into_iter().map(param).collect()
}

#[test]
fn a_folder_without_the_prefix_is_the_same_model() {
    for (name, prefix, extra) in [
        ("gpt2", "transformer.", Some("h.0.attn.bias")),
        ("llama", "model.", None),
        ("stablelm12", "model.", None),
        ("gemma3", "model.", None),
    ] {
        let folder = stripped("params", name, prefix, extra);
        let tensors = SafetensorsFile::open(&folder.join("model.safetensors")).expect("a file");
        assert!(tensors.names().iter().all(|name| !name.starts_with(prefix)), "{name}");
        let (ours, theirs) = (model(&folder), model(&tiny().join(name)));
        assert_eq!(params(&ours, prefix), params(&theirs, prefix), "{name}");
        assert_eq!(ours.graph.nodes().len(), theirs.graph.nodes().len(), "{name}");
    }
}

#[test]
fn a_file_of_it_is_the_same_file() {
    let write = |folder: &Path| {
        let conversion = Conversion::open(folder, DType::BF16.into()).expect("planned");
        let mut bytes = Vec::new();
        conversion.write(&mut bytes, |_, _| {}).expect("written");
        bytes
    };
    assert!(
        write(&stripped("file", "gpt2", "transformer.", Some("h.0.attn.bias")))
            == write(&tiny().join("gpt2"))
    );
}

/// Where neither is there, the usual name is missing.
#[test]
fn a_folder_of_another_model_lacks_the_usual_name() {
    let folder = stripped("other", "qwen3", "model.embed_tokens", None);
    let told = opened(&folder).model().err().expect("refused").to_string();
    assert!(told.contains("model.embed_tokens.weight"), "{told}");
}
