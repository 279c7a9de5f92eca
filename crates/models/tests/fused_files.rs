//! GGUF files of Phi 2 as llama.cpp's converter wrote them in 2023: queries, keys and values are rows of one matrix.

use pumice_import::{GgufModel, GgufWriter, WeightSource};
use pumice_models::{LanguageModel, LanguageOptions};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The part of a layer that is one tensor there, of these three.
const PARTS: [&str; 3] = ["attn_q", "attn_k", "attn_v"];

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny_decoders/phi/model.gguf")
}

/// Names of the three tensors that one of such a file is made of, or the one of another.
fn made_of(name: &str) -> Vec<String> {
    match name.contains("attn_qkv") {
        true => PARTS.iter().map(|part| name.replace("attn_qkv", part)).collect(),
        false => vec![name.to_owned()],
    }
}

/// The tiny file with such tensors.
fn fused() -> PathBuf {
    let source = GgufModel::open(tiny()).expect("opened");
    let mut writer = GgufWriter::new();
    for (key, value) in source.metadata().iter() {
        writer.metadata(key, value.clone()).expect("new");
    }
    for name in
        source.names().into_iter().filter(|name| !name.contains("attn_k.") && !name.contains("attn_v."))
    {
        let name = name.replace("attn_q.", "attn_qkv.");
        let parts = made_of(&name).into_iter().map(|part| source.describe(&part).expect("there"));
        let parts: Vec<_> = parts.collect();
        let mut shape = parts[0].shape.clone();
        shape[0] = parts.iter().map(|part| part.shape[0]).sum();
        writer.tensor(&name, parts[0].encoding, &shape).expect("new");
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fused.gguf");
    let mut file = File::create(&path).expect("made");
    let read = |name: &str, at: u64, piece: &mut [u8]| {
        let parts =
            made_of(name).into_iter().map(|part| source.load(&part)).collect::<Result<Vec<_>, _>>()?;
        let all: Vec<u8> = parts.iter().flat_map(|part| part.bytes().to_vec()).collect();
        piece.copy_from_slice(&all[at as usize..][..piece.len()]);
        Ok(())
    };
    writer.write(&mut file, read).expect("written");
    path
}

#[test]
fn one_matrix_for_queries_keys_and_values_is_read() {
    let opened = |path: &Path| LanguageModel::open(path, &LanguageOptions::default()).expect("opened");
    let (whole, parts) = (opened(&fused()), opened(&tiny()));
    let mut config = whole.config.clone();
    config.layers.iter_mut().for_each(|layer| {
        assert!(layer.attention.fused);
        layer.attention.fused = false;
    });
    assert_eq!(config, parts.config);
    let model = whole.model().expect("a model");
    let weights = |end: &str| {
        let tensor = model.weights.load(&format!("blk.1.attn_qkv.{end}")).expect("there");
        (tensor.shape().to_vec(), tensor.bytes().to_vec())
    };
    let expected = |end: &str| {
        let source = GgufModel::open(tiny()).expect("opened");
        let load = |part: &&str| source.load(&format!("blk.1.{part}.{end}")).expect("there").bytes().to_vec();
        PARTS.iter().flat_map(load).collect::<Vec<u8>>()
    };
    assert_eq!(weights("weight"), (vec![192, 64], expected("weight")));
    assert_eq!(weights("bias"), (vec![192], expected("bias")));
}
