//! What is said where weights cannot be had says what to do.

use pumice_import::{GgufFile, MemoryWeights, Model, ModelFolder, WeightSource};
use pumice_ir::{GraphBuilder, f32};
use pumice_types::{DType, Tensor};
use std::fs;
use std::path::PathBuf;

fn scratch(name: &str) -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("messages-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a scratch folder can be made");
    path
}

/// One of two shards, without the index, was said to be no weights at all.
#[test]
fn shards_without_their_index_ask_for_it() {
    let folder = scratch("shards");
    fs::write(folder.join("model-00001-of-00002.safetensors"), b"").expect("written");
    let error =
        ModelFolder::open(&folder).expect("a folder").weights().map(|_| ()).expect_err("half a model");
    let text = error.to_string();
    assert!(text.contains("model.safetensors.index.json") && text.contains("get it too"), "{text}");
    let _ = fs::remove_dir_all(folder);
}

/// A file in a quantization that is not read names what to take instead, and all that are read.
#[test]
fn a_quantization_that_is_not_read_says_what_to_take() {
    let folder = scratch("iq2");
    let of_type = |number: u32| {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend([1u64, 0].map(u64::to_le_bytes).concat());
        file.extend([&1u64.to_le_bytes()[..], b"w", &1u32.to_le_bytes()].concat());
        file.extend([&256u64.to_le_bytes()[..], &number.to_le_bytes(), &0u64.to_le_bytes()].concat());
        file.resize(file.len().next_multiple_of(32) + 96, 0);
        let path = folder.join("w.gguf");
        fs::write(&path, file).expect("written");
        GgufFile::open(&path).expect("sound").load("w").expect_err("not read").to_string()
    };
    let low = [(16, "iq2_xxs"), (17, "iq2_xs"), (22, "iq2_s"), (19, "iq1_s"), (29, "iq1_m")];
    let ternary = [(34, "tq1_0"), (35, "tq2_0")];
    let named = low.into_iter().chain(ternary).map(|(number, name)| (number, name, "quantization: q2_k"));
    let named =
        named.chain([(18, "iq3_xxs"), (21, "iq3_s")].map(|(n, name)| (n, name, "quantization: q3_k")));
    for (number, name, instead) in
        named.chain([(9, "q8_1"), (15, "q8_k")].map(|(n, s)| (n, s, "quantization: q8_0")))
    {
        let text = of_type(number);
        for said in ["`w`", name, instead, "q4_k", "nvfp4"] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }
    let _ = fs::remove_dir_all(folder);
}

/// A file of f16 for a param of f32: the file is right, and the param can be what it is.
#[test]
fn weights_of_another_type_say_how_the_param_can_have_it() {
    let said = |w: Tensor| {
        let g = GraphBuilder::new("m");
        g.output("y", g.param("w", f32([2u64])));
        let graph = g.build().expect("sound");
        let weights = Box::new(MemoryWeights::from_iter([("w".to_owned(), w)]));
        Model { graph, weights }.check().expect_err("another type").to_string()
    };
    let narrow = said(Tensor::from_bytes(DType::F16, &[2], vec![0; 4]).expect("two"));
    assert!(narrow.contains("declare the param as f16, as the file has it, and cast it"), "{narrow}");
    let other = said(Tensor::from_bytes(DType::F32, &[3], vec![0; 12]).expect("three"));
    assert!(other.contains("take weights and configuration from one model"), "{other}");
}
