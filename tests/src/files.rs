//! Files that suites read: checked-in data, and the real models where they were downloaded.

use pumice_import::{SafetensorsFile, WeightSource};
use std::path::{Path, PathBuf};

/// `tests/data`, or the folder that `PUMICE_TEST_DATA` names (for test programs that run on another machine).
pub fn data() -> PathBuf {
    match std::env::var_os("PUMICE_TEST_DATA") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("data"),
    }
}

/// The folders of tiny decoders, one a model, that `tests/reference/tiny_decoders.py` wrote; in the order of names.
///
/// # Panics
/// Where they are not there.
pub fn tiny_decoders() -> Vec<PathBuf> {
    let root = data().join("tiny_decoders");
    let folders = std::fs::read_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.expect("an entry").path()).collect();
    folders.sort();
    folders
}

/// all-MiniLM-L6-v2 in Hugging Face layout: the folder that `PUMICE_MINILM` names, else where `cargo xtask demo` has
/// put it.
pub fn minilm() -> Option<PathBuf> {
    named_or_fetched("PUMICE_MINILM", "all-MiniLM-L6-v2").find(|folder| folder.join("config.json").exists())
}

/// The GGUF file of SmolLM2-135M-Instruct: the one that `PUMICE_SMOLLM2` names, itself or by its folder, else where
/// `cargo xtask demo` has put it.
pub fn smollm2() -> Option<PathBuf> {
    let inside = |path: PathBuf| match path.is_dir() {
        true => path.join("SmolLM2-135M-Instruct.Q4_1.gguf"),
        false => path,
    };
    named_or_fetched("PUMICE_SMOLLM2", "SmolLM2-135M-Instruct").map(inside).find(|file| file.exists())
}

fn named_or_fetched(variable: &str, folder: &str) -> impl Iterator<Item = PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    named.into_iter().chain([target.join("demo").join(folder)])
}

/// The sentences that golden embeddings were made of.
pub fn sentences() -> Vec<String> {
    let text = std::fs::read_to_string(data().join("minilm/sentences.txt")).expect("checked in");
    text.lines().map(str::to_owned).collect()
}

/// Rows of the tensor `embeddings` of a golden file.
pub fn golden(path: &Path) -> Vec<Vec<f32>> {
    let tensor = SafetensorsFile::open(path).expect("checked in").load("embeddings").expect("in the file");
    let width = tensor.shape()[1] as usize;
    tensor.to_vec::<f32>().expect("f32").chunks(width).map(<[f32]>::to_vec).collect()
}
