//! How surprised a language model is by a text: what rounding factors of products costs, in one number.
//!
//! In: a GGUF file, a text, a precision. Out: the mean of -ln p of its tokens, each given those before it in its window
//! of the text; perplexity is e to that. Every window begins with the token that begins texts.

use crate::Fixture;
use pumice_compile::Options;
use pumice_models::{CacheType, LanguageModel, LanguageOptions};
use pumice_runtime::Session;
use pumice_types::{Precision, TensorView};
use std::path::Path;

/// What a text came to.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Perplexity {
    /// Tokens whose probabilities were looked at.
    pub tokens: usize,
    /// e to the mean of -ln p.
    pub perplexity: f64,
}

/// Of the first `tokens` tokens of a text, in windows of so many.
///
/// # Panics
/// If the file is no model of this architecture, or the text has too few tokens.
pub fn of_text(
    fixture: &Fixture,
    model: &Path,
    text: &str,
    [tokens, window]: [usize; 2],
    precision: Precision,
) -> Perplexity {
    let options = LanguageOptions::default().context(window as u64 + 1).cache(CacheType::F32);
    let file = LanguageModel::open(model, &options).unwrap_or_else(|e| panic!("{e}"));
    let tokenizer = file.tokenizer().unwrap_or_else(|e| panic!("{e}"));
    let first = tokenizer.bos().expect("a token that begins texts") as i32;
    let ids: Vec<i32> =
        tokenizer.encode(text, false).expect("tokens").into_iter().map(|id| id as i32).collect();
    assert!(ids.len() >= tokens, "the text has {} tokens, {tokens} are wanted", ids.len());
    let model = file.recompute_model().unwrap_or_else(|e| panic!("{e}"));
    let exe = fixture.model(&model, &Options::default().precision(precision));
    let mut session = exe.session().expect("a session");
    let of_window = |ids: &[i32]| surprise(&mut session, first, ids);
    let sum: f64 = ids[..tokens].chunks(window).map(of_window).sum();
    Perplexity { tokens, perplexity: (sum / tokens as f64).exp() }
}

/// The sum of -ln p of tokens, each after `first` and those before it.
fn surprise(session: &mut Session, first: i32, ids: &[i32]) -> f64 {
    let given: Vec<i32> = std::iter::once(first).chain(ids[..ids.len() - 1].iter().copied()).collect();
    let outputs =
        session.run(&[("ids", TensorView::i32(&given, [1, given.len() as u64]))]).expect("a window runs");
    let logits = outputs.get("logits").expect("an output").to_vec::<f32>().expect("f32");
    let rows = logits.chunks(logits.len() / ids.len());
    rows.zip(ids).map(|(row, &id)| log_sum_exp(row) - f64::from(row[id as usize])).sum()
}

fn log_sum_exp(row: &[f32]) -> f64 {
    let largest = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    row.iter().map(|&x| (f64::from(x) - largest).exp()).sum::<f64>().ln() + largest
}
