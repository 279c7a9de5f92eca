//! Logits of a language model against golden ones: a run is fed with the reference's tokens, one after the other.
//!
//! In: an executable of [`decoder_graph`](pumice_models::decoder) and a file of `tests/reference/llama_logits.py`,
//! which says what is in it. Out: how far the logits are from the reference, and where another token would have been
//! taken.

use crate::files;
use pumice_import::{SafetensorsFile, WeightSource};
use pumice_runtime::{Executable, RuntimeError, Session};
use pumice_types::{Element, TensorView};
use std::path::{Path, PathBuf};

/// Largest difference that is allowed, of the range of a position's logits.
pub const TOLERANCE: f32 = 1e-3;
/// Tokens of a prompt in one run.
const PIECE: usize = 128;

/// Prompts, the reference's tokens that follow, and some of the logits before each of them.
pub struct Goldens {
    /// Tokens of each prompt.
    pub prompts: Vec<Vec<i32>>,
    /// The tokens that follow, as many for each prompt: the likeliest every time.
    pub next: Vec<Vec<i32>>,
    range: Vec<f32>,
    top_ids: Vec<i32>,
    top: Vec<f32>,
    fixed_ids: Vec<i32>,
    fixed: Vec<f32>,
}

/// What came of one prompt.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Agreement {
    /// Positions compared.
    pub positions: usize,
    /// Largest difference of a logit, of the range of its position.
    pub worst: f32,
    /// Positions at which another token is the likeliest, with the distance of the reference's two best, of the range.
    pub other: Vec<(usize, f32)>,
}

impl Agreement {
    /// Whether differences are small, and other tokens were taken only where the reference's two best are as close.
    pub fn holds(&self) -> bool {
        self.worst <= TOLERANCE && self.other.iter().all(|(_, gap)| *gap < TOLERANCE)
    }
}

impl Goldens {
    /// `tests/data/smollm2/logits.safetensors`.
    pub fn smollm2() -> PathBuf {
        files::data().join("smollm2/logits.safetensors")
    }

    /// Reads a file.
    ///
    /// # Panics
    /// If it is not one that the script wrote.
    pub fn open(path: &Path) -> Goldens {
        let file = SafetensorsFile::open(path).unwrap_or_else(|e| panic!("{e}"));
        let i32s = |name: &str| values::<i32>(&file, name);
        let f32s = |name: &str| values::<f32>(&file, name);
        let ((prompt, longest), (next, steps)) = (i32s("prompt"), i32s("next"));
        let trimmed = |row: &[i32]| row.iter().copied().filter(|&id| id >= 0).collect();
        Goldens {
            prompts: prompt.chunks(longest).map(trimmed).collect(),
            next: next.chunks(steps).map(<[i32]>::to_vec).collect(),
            range: f32s("range").0,
            top_ids: i32s("top_ids").0,
            top: f32s("top").0,
            fixed_ids: i32s("fixed_ids").0,
            fixed: f32s("fixed").0,
        }
    }

    /// Tokens after each prompt.
    pub fn steps(&self) -> usize {
        self.next[0].len()
    }

    /// Feeds a prompt and all but the last of so many of the tokens that follow it. `see` gets the logits before each.
    ///
    /// # Errors
    /// Those of a run.
    pub fn teacher_forced(
        &self,
        session: &mut Session,
        prompt: usize,
        steps: usize,
        mut see: impl FnMut(&[f32]),
    ) -> Result<Agreement, RuntimeError> {
        let mut agreement = Agreement { positions: steps, ..Agreement::default() };
        session.set_scalar("position", 0)?;
        let mut logits = fed(session, &self.prompts[prompt])?;
        for step in 0..steps {
            see(&logits);
            self.compare(&logits, prompt, step, &mut agreement);
            if step + 1 < steps {
                logits = fed(session, &self.next[prompt][step..=step])?;
            }
        }
        Ok(agreement)
    }

    /// As [`Goldens::teacher_forced`] for the last position alone, with everything before it in as few runs as go.
    ///
    /// # Errors
    /// Those of a run.
    pub fn at_once(&self, session: &mut Session, prompt: usize) -> Result<Agreement, RuntimeError> {
        let (last, follow) = (self.steps() - 1, &self.next[prompt]);
        let mut agreement = Agreement { positions: 1, ..Agreement::default() };
        session.set_scalar("position", 0)?;
        let logits = fed(session, &[&self.prompts[prompt], &follow[..last]].concat())?;
        self.compare(&logits, prompt, last, &mut agreement);
        Ok(agreement)
    }

    /// The first token that differs from the reference's where the device chooses each token itself, with the distance
    /// of the reference's two best there, of the range.
    ///
    /// # Errors
    /// Those of a run.
    pub fn greedy(&self, session: &mut Session, prompt: usize) -> Result<Option<(usize, f32)>, RuntimeError> {
        session.set_scalar("position", 0)?;
        fed(session, &self.prompts[prompt])?;
        // The reference goes on after a token that ends the text, which ends a submission here.
        let mut left = self.steps() as u32 - 1;
        while left > 0 {
            session.run_steps(&[("ids", TensorView::i32(&[-1], [1, 1]))], left)?;
            left -= session.replays();
        }
        let from = self.prompts[prompt].len() as u64;
        let history = session.state("history")?.read_range(1, from..from + self.steps() as u64)?;
        let ids = history.to_vec::<i32>().expect("token ids");
        let first = ids.iter().zip(&self.next[prompt]).position(|(a, b)| a != b);
        Ok(first.map(|step| (step, self.gap(prompt, step))))
    }

    fn compare(&self, logits: &[f32], prompt: usize, step: usize, agreement: &mut Agreement) {
        let at = prompt * self.steps() + step;
        let row = |all: usize| at * all..(at + 1) * all;
        let (low, high) = (self.range[2 * at], self.range[2 * at + 1]);
        let smallest = logits.iter().copied().fold(f32::INFINITY, f32::min);
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let top = row(self.top.len() / self.range.len() * 2);
        let pairs = self.top_ids[top.clone()].iter().zip(&self.top[top]);
        let fixed = self.fixed_ids.iter().zip(&self.fixed[row(self.fixed_ids.len())]);
        let named = pairs.chain(fixed).map(|(&id, want)| (logits[id as usize], *want));
        for (got, want) in named.chain([(smallest, low), (largest, high)]) {
            let far = (got - want).abs() / (high - low);
            // A NaN is as far as can be.
            agreement.worst = if far.is_nan() { f32::INFINITY } else { agreement.worst.max(far) };
        }
        let best = logits.iter().position(|&v| v == largest);
        if best != Some(self.next[prompt][step] as usize) {
            agreement.other.push((step, self.gap(prompt, step)));
        }
    }

    /// The distance of the reference's two best logits at a position, of the range.
    fn gap(&self, prompt: usize, step: usize) -> f32 {
        let at = prompt * self.steps() + step;
        let top = &self.top[at * self.top.len() / self.range.len() * 2..];
        (top[0] - top[1]) / (self.range[2 * at + 1] - self.range[2 * at])
    }
}

/// The values of a tensor, and its last extent.
fn values<T: Element>(file: &SafetensorsFile, name: &str) -> (Vec<T>, usize) {
    let tensor = file.load(name).unwrap_or_else(|e| panic!("{e}"));
    let last = tensor.shape().last().copied().unwrap_or(1) as usize;
    (tensor.to_vec().unwrap_or_else(|e| panic!("{name}: {e}")), last)
}

/// Runs these tokens; the logits after the last.
fn fed(session: &mut Session, ids: &[i32]) -> Result<Vec<f32>, RuntimeError> {
    let mut logits = None;
    for piece in ids.chunks(PIECE) {
        let inputs = [("ids", TensorView::i32(piece, [1, piece.len() as u64]))];
        logits = session.run(&inputs)?.get("logits").ok().map(|l| l.to_vec().expect("f32"));
    }
    Ok(logits.expect("a token was fed"))
}

/// A GGUF file compiled for a device and filled.
///
/// # Panics
/// If the file is no model of this architecture or cannot be loaded.
pub fn load(fixture: &crate::Fixture, path: &Path, context: Option<u64>) -> Executable {
    use pumice_models::{CacheType, LanguageModel, LanguageOptions, specialize};
    let options = LanguageOptions::default().context(context).cache(CacheType::F32);
    let file = LanguageModel::open(path, &options);
    let model = file.and_then(LanguageModel::model).unwrap_or_else(|e| panic!("{e}"));
    fixture.model(&model, &pumice_compile::Options::default().specializations(specialize::decoder()))
}
