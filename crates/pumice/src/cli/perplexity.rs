//! `pumice perplexity`: how surprised a language model is by a text, in the way of llama.cpp's `llama-perplexity`.

use super::compiler::CompilerArgs;
use super::hub::{HubArgs, Takes};
use super::progress::Progress;
use super::reading::ReadingArgs;
use super::words::{count, whole};
use super::{CommandError, Outcome, say, texts};
use crate::device::DeviceChoice;
use crate::embed::cli::{announce, explain};
use crate::error::Error;
use crate::generate::{Perplexity, Scorer, TextError, perplexity_windows};
use pumice_models::{LanguageModel, ModelError};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments of `pumice perplexity`.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "The text is cut into windows that do not overlap; what is left at its end is not scored. Each window begins with \
    the token that begins texts, where the model wants one. Of each window the second half is scored: \
    perplexity is e to the mean of -ln p of its tokens.\n\n\
    Keys of --json: model, device, precision, kv, context, windows, tokens (scored), text_tokens, ppl, error (its \
    standard error), mean (of -ln p), seconds, tokens_per_s (read), notes."
)]
pub struct PerplexityArgs {
    /// A GGUF file, a folder in Hugging Face layout, or a name in the hub such as ORG/REPO:Q4_K_M (feature hub)
    #[arg(long, value_name = "MODEL")]
    pub model: PathBuf,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
    /// The text; `-` is the standard input
    #[arg(long, value_name = "TEXT")]
    pub file: PathBuf,
    /// Tokens of a window
    #[arg(long, value_name = "N", default_value_t = 512, allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub context: u64,
    /// So many windows at most, from the beginning of the text [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub chunks: Option<usize>,
    /// How the model is read
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// How the model is compiled
    #[command(flatten)]
    pub compiler: CompilerArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Where to run: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
}

/// The form of `--json`.
#[derive(Serialize)]
struct Report<'r> {
    model: String,
    device: String,
    precision: &'r str,
    kv: &'r str,
    context: u64,
    windows: usize,
    tokens: usize,
    text_tokens: usize,
    ppl: f64,
    error: Option<f64>,
    mean: f64,
    seconds: f64,
    tokens_per_s: f64,
    notes: Vec<&'r str>,
}

/// The fewest tokens of a window: two to begin with, one that is scored.
const SHORTEST: u64 = 3;

/// Runs the command. The perplexity goes to `out`; device and notes go to `log`. `cache` is the folder of the pipeline
/// cache.
///
/// # Errors
/// A model or a text that cannot be read, a text of less than a window, a device that fails, an output that cannot be
/// written.
pub fn run(
    args: &PerplexityArgs,
    cache: Option<PathBuf>,
    out: &mut dyn Write,
    log: &mut dyn Write,
) -> Outcome {
    if args.context < SHORTEST {
        return Err(CommandError::Usage(format!("--context: a window has at least {SHORTEST} tokens")));
    }
    if args.chunks == Some(0) {
        return Err(CommandError::Usage("--chunks 0 scores nothing: give at least 1".to_owned()));
    }
    let text = text(args)?;
    let options = args.reading.options().context(args.context);
    let progress = Progress::new();
    let path = args.hub.located(&args.model, Takes::Any, &progress, log)?;
    let model = LanguageModel::open(path, &options).map_err(Error::from)?;
    let tokenizer = model.tokenizer().map_err(Error::from)?;
    let ids =
        tokenizer.encode_prompt(&text, false).map_err(|e: TextError| Error::from(ModelError::from(e)))?;
    check_length(ids.len(), args.context)?;
    let choice = args.compiler.device(&args.device, cache, &progress)?;
    announce(&choice, log)?;
    let mut scorer =
        progress.with_tensors(|heard| Scorer::of(model, &choice.device, &args.compiler.options(), heard))?;
    let size = args.context as usize;
    let all = perplexity_windows(&ids, size, tokenizer.before_prompts());
    let windows = all.len().min(args.chunks.unwrap_or(usize::MAX));
    let begun = Instant::now();
    let perplexity = measured(&mut scorer, all.take(windows), &progress)?;
    progress.end();
    let measured = Measured { args, choice: &choice, perplexity, windows, text_tokens: ids.len() };
    measured.tell(begun.elapsed(), &scorer, out)?;
    if !args.json {
        if windows == ids.len() / size {
            tell_rest(ids.len() % size, log)?;
        }
        explain(&choice, scorer.executable(), scorer.notes(), log)?;
    }
    Ok(true)
}

/// Says how many tokens are no whole window, if there are any.
fn tell_rest(left: usize, log: &mut dyn Write) -> std::io::Result<()> {
    if left == 0 {
        return Ok(());
    }
    writeln!(log, "the last {} of the text are no whole window and were left out", count(left, "token"))
}

fn text(args: &PerplexityArgs) -> Result<String, CommandError> {
    let is_input = args.file.as_os_str() == "-";
    let (prompt, file) = if is_input { (Some("-"), None) } else { (None, Some(args.file.as_path())) };
    Ok(texts::given(prompt, file)?.unwrap_or_default())
}

fn check_length(tokens: usize, window: u64) -> Result<(), CommandError> {
    if tokens as u64 >= window {
        return Ok(());
    }
    let told = format!(
        "the text has {}, which is less than a window of {window}: give a longer one, or a smaller --context",
        count(tokens, "token")
    );
    Err(CommandError::Usage(told))
}

/// Goes through the windows, and shows how far it is.
fn measured(
    scorer: &mut Scorer,
    windows: impl ExactSizeIterator<Item = Vec<u32>>,
    progress: &Progress,
) -> Result<Perplexity, Error> {
    let mut perplexity = Perplexity::default();
    let bar = progress.bar(windows.len(), "windows");
    for window in windows {
        perplexity.add_window(scorer, &window)?;
        bar.set_message(format!("windows, perplexity {:.4}", perplexity.value()));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(perplexity)
}

/// What the command found.
struct Measured<'m> {
    args: &'m PerplexityArgs,
    choice: &'m DeviceChoice,
    perplexity: Perplexity,
    windows: usize,
    text_tokens: usize,
}

impl Measured<'_> {
    fn tell(&self, took: Duration, scorer: &Scorer, out: &mut dyn Write) -> Result<(), CommandError> {
        let (args, found, seconds) = (self.args, &self.perplexity, took.as_secs_f64());
        let rate = (self.windows as u64 * args.context) as f64 / seconds;
        if !args.json {
            let windows = format!("{} of {}", count(self.windows, "window"), args.context);
            let error = found.standard_error().map_or_else(String::new, |error| format!(" ± {error:.4}"));
            return say(
                out,
                format_args!(
                    "perplexity {:.4}{error} over {} ({windows}); {seconds:.1} s, {rate:.1} tokens a second",
                    found.value(),
                    count(found.tokens(), "token"),
                ),
            );
        }
        let report = Report {
            model: args.model.display().to_string(),
            device: self.choice.device.name(),
            precision: scorer.executable().plan().precision.name(),
            kv: args.reading.cache().name(),
            context: args.context,
            windows: self.windows,
            tokens: found.tokens(),
            text_tokens: self.text_tokens,
            ppl: found.value(),
            error: found.standard_error(),
            mean: found.value().ln(),
            seconds,
            tokens_per_s: rate,
            notes: scorer.notes().iter().map(|n| n.0.as_str()).collect(),
        };
        let text = serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))?;
        say(out, text)
    }
}
