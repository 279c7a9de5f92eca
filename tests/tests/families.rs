//! Language models of every family (E1): tiny models that transformers made, read from their folders and from the GGUF
//! files that llama.cpp's converter made of them, give the logits that it gave; whole and without caches, and in pieces
//! with caches of f32 and f16, after which its likeliest tokens follow one by one.
//!
//! `tests/reference/tiny_decoders.py` made the folders; each has what its family has.

use pumice::generate::Scorer;
use pumice::{Device, DeviceKind};
use pumice_compile::Options;
use pumice_import::{Model, SafetensorsFile, WeightSource};
use pumice_models::{CacheType, LanguageModel, LanguageOptions, ModelError, specialize};
use pumice_tests::{Fixture, files};
use pumice_types::TensorView;
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
    /// The likeliest tokens after them, and the logits that each was chosen by.
    greedy: Vec<i32>,
    greedy_logits: Vec<f32>,
    vocab: usize,
}

fn cases() -> Vec<Case> {
    files::tiny_decoders().into_iter().map(case).collect()
}

fn case(folder: PathBuf) -> Case {
    let expected = SafetensorsFile::open(&folder.join("expected.safetensors")).expect("a file");
    let logits = expected.load("logits").expect("logits");
    let floats = |name| expected.load(name).expect("there").to_vec::<f32>().expect("f32");
    let integers = |name| expected.load(name).expect("there").to_vec::<i32>().expect("i32");
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    Case {
        name,
        folder,
        ids: integers("ids"),
        vocab: logits.shape()[1] as usize,
        logits: floats("logits"),
        greedy: integers("greedy"),
        greedy_logits: floats("greedy_logits"),
    }
}

/// Where a model is read from.
#[derive(Clone, Copy, Debug)]
enum From {
    Folder,
    Gguf,
}

impl Case {
    /// Where it can be read from.
    fn sources(&self) -> Vec<From> {
        let has_gguf = self.gguf().exists();
        [Some(From::Folder), Some(From::Gguf).filter(|_| has_gguf)].into_iter().flatten().collect()
    }

    fn gguf(&self) -> PathBuf {
        self.folder.join("model.gguf")
    }

    fn family(&self) -> &'static str {
        self.open(From::Folder, CacheType::F32).family()
    }

    fn open(&self, from: From, cache: CacheType) -> LanguageModel {
        let path = match from {
            From::Folder => self.folder.clone(),
            From::Gguf => self.gguf(),
        };
        self.read(LanguageModel::open(path, &LanguageOptions::default().cache(cache)))
    }

    fn without_caches(&self, from: From) -> Model {
        self.read(self.open(from, CacheType::F32).recompute_model())
    }

    fn with_caches(&self, from: From, cache: CacheType) -> Model {
        self.read(self.open(from, cache).model())
    }

    fn read<T>(&self, read: Result<T, ModelError>) -> T {
        read.unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    /// The logits after a token.
    fn after(&self, token: usize) -> &[f32] {
        &self.logits[token * self.vocab..][..self.vocab]
    }

    fn range(&self) -> f32 {
        let all = self.logits.iter().copied();
        all.clone().fold(f32::MIN, f32::max) - all.fold(f32::MAX, f32::min)
    }

    /// ln p of the token at a place, given those before it.
    fn log_prob(&self, at: usize) -> f64 {
        let logits = self.after(at - 1);
        let largest = f64::from(logits.iter().copied().fold(f32::MIN, f32::max));
        let sum: f64 = logits.iter().map(|&x| (f64::from(x) - largest).exp()).sum();
        f64::from(logits[self.ids[at] as usize]) - largest - sum.ln()
    }

    /// How far logits are from these, as a share of the range of all.
    fn apart(&self, logits: &[f32], expected: &[f32]) -> f32 {
        assert_eq!(logits.len(), expected.len(), "{}", self.name);
        logits.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / self.range()
    }
}

/// Every token's logits at once.
fn whole(fixture: &Fixture, case: &Case, from: From) -> f32 {
    let exe = fixture.model(&case.without_caches(from), &Options::default());
    let input = [("ids", TensorView::i32(&case.ids, [1, case.ids.len() as u64]))];
    let out = exe.session().expect("a session").run(&input).expect("runs");
    let logits = out.get("logits").expect("there").to_vec::<f32>().expect("f32");
    case.apart(&logits, &case.logits)
}

/// The logits after each piece, then those of the likeliest tokens of the reference one by one; the largest distance.
fn in_pieces(fixture: &Fixture, case: &Case, from: From, cache: CacheType) -> f32 {
    let options = Options::default().specializations(specialize::decoder());
    let exe = fixture.model(&case.with_caches(from, cache), &options);
    let mut session = exe.session().expect("a session");
    let (mut read, mut worst) = (0, 0.0f32);
    let mut logits = Vec::new();
    let mut after = |ids: &[i32]| {
        let out = session.run(&[("ids", TensorView::i32(ids, [1, ids.len() as u64]))]).expect("runs");
        out.get("logits").expect("there").to_vec::<f32>().expect("f32")
    };
    for piece in PIECES {
        logits = after(&case.ids[read..read + piece]);
        read += piece;
        worst = worst.max(case.apart(&logits, case.after(read - 1)));
    }
    assert_eq!(read, case.ids.len());
    for (at, (&token, expected)) in case.greedy.iter().zip(case.greedy_logits.chunks(case.vocab)).enumerate()
    {
        if at > 0 {
            logits = after(&case.greedy[at - 1..at]);
        }
        let apart = case.apart(&logits, expected);
        worst = worst.max(apart);
        // The reference's own, unless another token is as likely for all that is known.
        let ours = likeliest(&logits);
        let short = (expected[token as usize] - expected[ours]) / case.range();
        assert!(
            ours == token as usize || short <= 2.0 * apart,
            "{}: token {at} is {ours}, not {token}",
            case.name
        );
    }
    worst
}

fn likeliest(logits: &[f32]) -> usize {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(0, |(at, _)| at)
}

fn logits_are_those_of_transformers(fixture: &Fixture) {
    let mut far = Vec::new();
    for case in cases() {
        for from in case.sources() {
            let whole = whole(fixture, &case, from);
            let [wide, half] =
                [CacheType::F32, CacheType::F16].map(|cache| in_pieces(fixture, &case, from, cache));
            let told =
                format!("{} {from:?}: whole {whole:.1e}, in pieces {wide:.1e}, f16 {half:.1e}", case.name);
            println!("{told}");
            if whole.is_nan() || whole.max(wide) > 1e-3 || half > 5e-3 {
                far.push(told);
            }
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}

/// How likely each token is: read in uneven pieces, all of them scored, or the second half.
fn scores_are_those_of_transformers(fixture: &Fixture) {
    let device = Device::from_runtime(fixture.device.clone(), DeviceKind::CpuDriver);
    let mut far = Vec::new();
    for case in cases() {
        let options = LanguageOptions::default().cache(CacheType::F32).max_new(7);
        let scorer = Scorer::open(&case.folder, &device, &options, &Options::default(), |_, _| {});
        let mut scorer = scorer.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let ids: Vec<u32> = case.ids.iter().map(|&id| id as u32).collect();
        for from in [1, 33] {
            let scores = scorer.log_probs(&ids, from).expect("runs");
            assert_eq!(scores.len(), ids.len() - from, "{}", case.name);
            let off = (from..).zip(scores).map(|(at, p)| (case.log_prob(at) - f64::from(p)).abs());
            let worst = off.fold(0.0, f64::max);
            if worst.is_nan() || worst > 1e-3 {
                far.push(format!("{} from {from}: {worst:.1e}", case.name));
            }
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}

#[test]
fn scores_on_the_interpreter() {
    scores_are_those_of_transformers(&Fixture::interpreter());
}

#[test]
fn every_family_has_a_folder() {
    let cases = cases();
    let mut families: Vec<&str> = cases.iter().map(Case::family).collect();
    families.sort_unstable();
    families.dedup();
    assert_eq!(families.len(), 17, "{families:?}");
    assert_eq!(cases.iter().map(|case| case.sources().len()).sum::<usize>(), cases.len() + 21);
}

#[test]
fn logits_on_the_interpreter() {
    logits_are_those_of_transformers(&Fixture::interpreter());
}

mod on_device {
    use super::*;

    #[test]
    fn scores_on_vulkan() {
        scores_are_those_of_transformers(&Fixture::vulkan());
    }

    #[test]
    fn logits_on_vulkan() {
        logits_are_those_of_transformers(&Fixture::vulkan());
    }
}
