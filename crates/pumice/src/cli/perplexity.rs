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
use std::path::{Path, PathBuf};
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
    #[arg(long, short, value_name = "MODEL")]
    pub model: PathBuf,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
    /// The text; `-` is the standard input
    #[arg(long, short, value_name = "TEXT")]
    pub file: PathBuf,
    /// Tokens of a window [default: 512, or the model's context where that is shorter]
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub context: Option<u64>,
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

/// Tokens of a window where nobody says how many.
const WINDOW: u64 = 512;

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
    check_window(args.context.unwrap_or(WINDOW))?;
    check_chunks(args.chunks)?;
    let text = text(args)?;
    let progress = Progress::new();
    let path = args.hub.located(&args.model, Takes::Any, &progress, log)?;
    let window = window(args, &path)?;
    let options = args.reading.options().context(window.tokens);
    let model = LanguageModel::open(path, &options).map_err(Error::from)?;
    let tokenizer = model.tokenizer().map_err(Error::from)?;
    let ids =
        tokenizer.encode_prompt(&text, false).map_err(|e: TextError| Error::from(ModelError::from(e)))?;
    check_length(ids.len(), window.tokens)?;
    let choice = args.compiler.device(&args.device, cache, &progress)?;
    announce(&choice, log)?;
    let mut scorer =
        progress.with_tensors(|heard| Scorer::of(model, &choice.device, &args.compiler.options(), heard))?;
    let size = window.tokens as usize;
    let all = perplexity_windows(&ids, size, tokenizer.before_prompts());
    let windows = all.len().min(args.chunks.unwrap_or(usize::MAX));
    let begun = Instant::now();
    let perplexity = measured(&mut scorer, all.take(windows), &progress)?;
    progress.end();
    let measured =
        Measured { args, window: &window, choice: &choice, perplexity, windows, text_tokens: ids.len() };
    measured.tell(begun.elapsed(), &scorer, out)?;
    if !args.json {
        let rest = if windows == ids.len() / size { ids.len() % size } else { 0 };
        tell_windows(&window, rest, log)?;
        explain(&choice, scorer.executable(), scorer.notes(), log)?;
    }
    Ok(true)
}

/// What a window is.
struct Window {
    tokens: u64,
    /// Why it is not what it is elsewhere.
    why: Option<String>,
}

fn window(args: &PerplexityArgs, model: &Path) -> Result<Window, CommandError> {
    if let Some(tokens) = args.context {
        return Ok(Window { tokens, why: None });
    }
    let trained = LanguageModel::open(model, &args.reading.options()).map_err(Error::from)?.trained_context;
    let tokens = WINDOW.min(trained);
    check_window(tokens)?;
    let why = format!("windows are of {trained} tokens instead of {WINDOW}: the model's context has no more");
    Ok(Window { tokens, why: (trained < WINDOW).then_some(why) })
}

fn check_chunks(chunks: Option<usize>) -> Result<(), CommandError> {
    if chunks == Some(0) {
        return Err(CommandError::Usage("--chunks 0 scores nothing: give at least 1".to_owned()));
    }
    Ok(())
}

fn check_window(tokens: u64) -> Result<(), CommandError> {
    if tokens < SHORTEST {
        return Err(CommandError::Usage(format!("--context: a window has at least {SHORTEST} tokens")));
    }
    Ok(())
}

/// Says why windows are shorter, and how many tokens are no whole one, if there are any.
fn tell_windows(window: &Window, rest: usize, log: &mut dyn Write) -> std::io::Result<()> {
    if let Some(why) = &window.why {
        writeln!(log, "note: {why}")?;
    }
    if rest == 0 {
        return Ok(());
    }
    writeln!(log, "the last {} of the text are no whole window and were left out", count(rest, "token"))
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
    window: &'m Window,
    choice: &'m DeviceChoice,
    perplexity: Perplexity,
    windows: usize,
    text_tokens: usize,
}

impl Measured<'_> {
    fn tell(&self, took: Duration, scorer: &Scorer, out: &mut dyn Write) -> Result<(), CommandError> {
        let (args, found, seconds) = (self.args, &self.perplexity, took.as_secs_f64());
        let rate = (self.windows as u64 * self.window.tokens) as f64 / seconds;
        if !args.json {
            let windows = format!("{} of {}", count(self.windows, "window"), self.window.tokens);
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
        let notes = scorer.notes().iter().map(|n| n.0.as_str());
        let report = Report {
            model: args.model.display().to_string(),
            device: self.choice.device.name(),
            precision: scorer.executable().plan().precision.name(),
            kv: args.reading.cache().name(),
            context: self.window.tokens,
            windows: self.windows,
            tokens: found.tokens(),
            text_tokens: self.text_tokens,
            ppl: found.value(),
            error: found.standard_error(),
            mean: found.value().ln(),
            seconds,
            tokens_per_s: rate,
            notes: notes.chain(self.window.why.as_deref()).collect(),
        };
        let text = serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))?;
        say(out, text)
    }
}
