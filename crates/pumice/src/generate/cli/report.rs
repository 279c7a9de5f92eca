//! What an answer took: the object of `--json`, and a line.

use super::GenerateArgs;
use crate::cli::CommandError;
use crate::cli::piece::TokenText;
use crate::cli::words::count;
use crate::device::DeviceChoice;
use crate::embed::cli::explain;
use crate::generate::request::rate;
use crate::generate::{FinishReason, Generated, Generator, Token, TokenLogProb};
use pumice_models::TextTokenizer;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Less time for kernels is not spoken of.
const KERNELS_S: f64 = 0.05;

/// The form of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    model: String,
    device: String,
    precision: String,
    notes: Vec<&'a str>,
    prompt_ids: &'a [u32],
    /// Tokens of the prompt that the caches held already.
    prompt_kept: usize,
    /// Tokens of the prompt that were read: all others, unless it was interrupted.
    prompt_read: usize,
    ids: &'a [u32],
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<Vec<TokenReport<'a>>>,
    end: FinishReason,
    /// Where the random numbers began; none where nothing was drawn.
    seed: Option<u64>,
    times: Times,
    memory_bytes: u64,
}

#[derive(Serialize)]
struct TokenReport<'a> {
    #[serde(flatten)]
    piece: TokenText<'a>,
    log_prob: Option<f32>,
    likeliest: Vec<LikelyReport<'a>>,
}

#[derive(Serialize)]
struct LikelyReport<'a> {
    #[serde(flatten)]
    piece: TokenText<'a>,
    log_prob: f32,
}

impl<'a> TokenReport<'a> {
    fn of(tokenizer: Option<&'a TextTokenizer>, token: &Token) -> TokenReport<'a> {
        let piece = |id| TokenText::of(tokenizer, id);
        let likely = |of: &TokenLogProb| LikelyReport { piece: piece(of.id), log_prob: of.log_prob };
        let likeliest = token.likeliest.iter().map(likely).collect();
        TokenReport { piece: piece(token.id), log_prob: token.log_prob, likeliest }
    }
}

#[derive(Serialize)]
struct Times {
    /// Making kernels, before the prompt was read.
    kernels_s: f64,
    prompt_s: f64,
    prompt_tokens_per_s: f64,
    decode_s: f64,
    decode_tokens_per_s: f64,
}

impl Times {
    fn of(answer: &Generated) -> Times {
        Times {
            kernels_s: answer.kernels_time.as_secs_f64(),
            prompt_s: answer.prompt_time.as_secs_f64(),
            prompt_tokens_per_s: rate(answer.prompt_read, answer.prompt_time),
            decode_s: answer.decode_time.as_secs_f64(),
            decode_tokens_per_s: answer.decode_rate(),
        }
    }
}

/// What a report needs besides an answer.
pub(super) struct Reported<'r> {
    pub args: &'r GenerateArgs,
    pub choice: &'r DeviceChoice,
    pub generator: &'r Generator,
    /// Files and folders that the command reads.
    pub reads: &'r [PathBuf],
    /// Where the random numbers began.
    pub seed: Option<u64>,
}

impl Reported<'_> {
    /// The object of `--json`.
    pub fn json(&self, prompt_ids: &[u32], answer: &Generated) -> Result<String, CommandError> {
        let exe = self.generator.executable();
        let token = |token| TokenReport::of(self.generator.tokenizer(), token);
        let logprobs = self.args.logprobs.map(|_| answer.tokens.iter().map(token).collect());
        let report = Report {
            model: self.args.model.as_ref().map_or("seeded".into(), |m| m.display().to_string()),
            device: self.choice.device.name(),
            precision: exe.plan().precision.name().to_owned(),
            notes: self.generator.notes().iter().map(|n| n.0.as_str()).collect(),
            prompt_ids,
            prompt_kept: answer.prompt_kept,
            prompt_read: answer.prompt_read,
            ids: &answer.ids,
            text: &answer.text,
            logprobs,
            end: answer.end,
            seed: self.seed,
            times: Times::of(answer),
            memory_bytes: self.memory().0,
        };
        serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))
    }

    /// How much was read and made, how fast, and why it ended where that is not the model's end.
    pub fn sums(&self, prompt: usize, answer: &Generated) -> String {
        let times = Times::of(answer);
        let kept = match answer.prompt_kept {
            0 => String::new(),
            kept => format!(" ({kept} kept)"),
        };
        let kernels = match times.kernels_s {
            little if little < KERNELS_S => String::new(),
            seconds => format!("kernels made in {seconds:.1} s; "),
        };
        format!(
            "{kernels}{}{kept}, {:.1} a second; {}, {:.1} a second; {} on the device{}",
            count(answer.prompt_read, "prompt token"),
            times.prompt_tokens_per_s,
            count(answer.ids.len(), "token"),
            times.decode_tokens_per_s,
            self.memory(),
            ended(prompt, answer, self.generator.model.longer_context()),
        )
    }

    /// Says what the user should know of device and model.
    pub fn explain(&self, log: &mut dyn Write) -> std::io::Result<()> {
        explain(self.choice, self.generator.executable(), self.generator.notes(), log)
    }

    fn memory(&self) -> pumice_types::Bytes {
        let memory = self.generator.executable().memory();
        memory.shared() + memory.per_session()
    }
}

/// Why an answer ended, where the model did not end it. `longer`: how there is a longer context.
fn ended(prompt: usize, answer: &Generated, longer: Option<&str>) -> String {
    let read = answer.prompt_kept + answer.prompt_read;
    match (answer.end, longer) {
        (FinishReason::Context, Some(how)) => format!("; the context is full: {how}"),
        (FinishReason::Context, None) => "; the context is full, and it is the model's longest".to_owned(),
        (FinishReason::Interrupted, _) if read < prompt => {
            format!("; interrupted after {read} of {} of the prompt", count(prompt, "token"))
        }
        (FinishReason::Interrupted, _) => "; interrupted".to_owned(),
        (FinishReason::Stop | FinishReason::StopText | FinishReason::Length, _) => String::new(),
    }
}
