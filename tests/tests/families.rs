//! Language models of every family (E1): tiny models that transformers made, read from their folders, give the logits
//! that it gave; whole and without caches, in pieces with caches of f32 and f16, and the tokens that follow.
//!
//! `tests/reference/tiny_decoders.py` made the folders; each has what its family has.

use pumice_compile::Options;
use pumice_import::{Model, SafetensorsFile, WeightSource};
use pumice_models::{LanguageFolder, LlamaOptions, specialize};
use pumice_tests::{Fixture, files};
use pumice_types::{DType, TensorView};
use std::path::PathBuf;

/// Lengths of the pieces in which 64 tokens are read.
const PIECES: [usize; 5] = [1, 30, 2, 30, 1];

/// A folder and what transformers made of it.
struct Case {
    name: String,
    folder: PathBuf,
    ids: Vec<i32>,
    /// By token, then by id.
    logits: Vec<f32>,
    vocab: usize,
}

fn cases() -> Vec<Case> {
    let root = files::data().join("tiny_decoders");
    let folders = std::fs::read_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.expect("an entry").path()).collect();
    folders.sort();
    folders.into_iter().map(case).collect()
}

fn case(folder: PathBuf) -> Case {
    let expected = SafetensorsFile::open(&folder.join("expected.safetensors")).expect("a file");
    let logits = expected.load("logits").expect("logits");
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let ids = expected.load("ids").expect("ids").to_vec::<i32>().expect("i32");
    Case {
        name,
        folder,
        ids,
        vocab: logits.shape()[1] as usize,
        logits: logits.to_vec::<f32>().expect("f32"),
    }
}

impl Case {
    fn open(&self) -> LanguageFolder {
        LanguageFolder::open(&self.folder, &LlamaOptions::default())
            .unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    fn with_caches(&self, cache: DType) -> Model {
        let mut folder = self.open();
        folder.config.cache = cache;
        folder.model().unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    /// The logits after a token.
    fn after(&self, token: usize) -> &[f32] {
        &self.logits[token * self.vocab..][..self.vocab]
    }

    /// How far logits are from these, as a share of the range of all.
    fn apart(&self, logits: &[f32], expected: &[f32]) -> f32 {
        let all = self.logits.iter().copied();
        let range = all.clone().fold(f32::MIN, f32::max) - all.fold(f32::MAX, f32::min);
        assert_eq!(logits.len(), expected.len(), "{}", self.name);
        logits.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / range
    }
}

/// Every token's logits at once.
fn whole(fixture: &Fixture, case: &Case) -> f32 {
    let model = case.open().recompute_model().unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let exe = fixture.model(&model, &Options::default());
    let input = [("ids", TensorView::i32(&case.ids, [1, case.ids.len() as u64]))];
    let out = exe.session().expect("a session").run(&input).expect("runs");
    let logits = out.get("logits").expect("there").to_vec::<f32>().expect("f32");
    case.apart(&logits, &case.logits)
}

/// The logits after each piece; the largest distance.
fn in_pieces(fixture: &Fixture, case: &Case, cache: DType) -> f32 {
    let options = Options::default().specializations(specialize::decoder());
    let exe = fixture.model(&case.with_caches(cache), &options);
    let mut session = exe.session().expect("a session");
    let (mut read, mut worst) = (0, 0.0f32);
    for piece in PIECES {
        let ids = &case.ids[read..read + piece];
        let out = session.run(&[("ids", TensorView::i32(ids, [1, piece as u64]))]).expect("runs");
        read += piece;
        let logits = out.get("logits").expect("there").to_vec::<f32>().expect("f32");
        worst = worst.max(case.apart(&logits, case.after(read - 1)));
    }
    assert_eq!(read, case.ids.len());
    worst
}

fn logits_are_those_of_transformers(fixture: &Fixture) {
    let mut far = Vec::new();
    for case in cases() {
        let whole = whole(fixture, &case);
        let [wide, half] = [DType::F32, DType::F16].map(|cache| in_pieces(fixture, &case, cache));
        println!("{:12} whole {whole:.1e}, in pieces {wide:.1e}, f16 caches {half:.1e}", case.name);
        if whole.is_nan() || whole.max(wide) > 1e-3 || half > 5e-3 {
            far.push(format!("{}: {whole} {wide} {half}", case.name));
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}

#[test]
fn every_family_has_a_folder() {
    let cases = cases();
    let mut families: Vec<&str> = cases.iter().map(|case| case.open().family()).collect();
    families.sort_unstable();
    families.dedup();
    assert_eq!(families.len(), 16, "{families:?}");
    assert!(cases.iter().all(|case| case.open().trained_context == 128));
}

#[test]
fn logits_on_the_interpreter() {
    logits_are_those_of_transformers(&Fixture::interpreter());
}

mod on_device {
    use super::*;

    #[test]
    fn logits_on_vulkan() {
        logits_are_those_of_transformers(&Fixture::vulkan());
    }
}
