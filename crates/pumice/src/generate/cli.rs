//! `pumice generate`: arguments in, text to the standard output as it comes; what the user should know goes to the log.

use super::request::rate;
use super::{
    CacheType, End, GenerateOptions, Generated, Generator, Heard, LanguageOptions, Message, Prompt, Request,
    Sampler,
};
use crate::cli::CommandError;
use crate::cli::compiler::CompilerArgs;
use crate::cli::progress::Progress;
use crate::cli::words::{count, whole};
use crate::device::{Device, DeviceChoice};
use crate::embed::cli::{announce, explain};
use crate::error::Error;
use crate::plan_file;
use serde::Serialize;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Arguments of `pumice generate`.
#[derive(clap::Args, Clone, Debug)]
pub struct GenerateArgs {
    /// A GGUF file, or a folder in Hugging Face layout
    #[arg(long, value_name = "MODEL", required_unless_present = "seeded")]
    pub model: Option<PathBuf>,
    /// Use the small model with seeded weights, which needs no file; its text means nothing
    #[arg(long, alias = "offline", conflicts_with = "model")]
    pub seeded: bool,
    /// Continue this text, taken as it is
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Answer this message, through the model's chat template
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt")]
    pub chat: Option<String>,
    /// The most tokens
    #[arg(
        short,
        long = "tokens",
        value_name = "N",
        default_value_t = 256,
        allow_negative_numbers = true,
        value_parser = whole::<usize>
    )]
    pub n: usize,
    /// Take the likeliest token every time
    #[arg(long, conflicts_with_all = ["temp", "top_k", "top_p", "seed"])]
    pub greedy: bool,
    /// Temperature: below 1 likelier tokens, above 1 rarer ones; 0 is --greedy
    #[arg(long, value_name = "T", default_value_t = 0.7, allow_negative_numbers = true)]
    pub temp: f32,
    /// Draw from the K likeliest tokens; 0 from all
    #[arg(
        long,
        value_name = "K",
        default_value_t = 40,
        allow_negative_numbers = true,
        value_parser = whole::<usize>
    )]
    pub top_k: usize,
    /// Draw from the fewest tokens that have this probability together
    #[arg(long, value_name = "P", default_value_t = 0.95, allow_negative_numbers = true)]
    pub top_p: f32,
    /// The same seed draws the same tokens from the same logits
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true,
        value_parser = whole::<u64>
    )]
    pub seed: u64,
    /// Tokens that prompt and answer may have together [default: the model's, 2048 at most]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub context: Option<u64>,
    /// How the caches keep keys and values: f16 or f32
    #[arg(long, value_name = "TYPE", default_value = "f16")]
    pub kv: CacheType,
    /// Run a plan that `pumice compile` made of the model, and compile nothing
    #[arg(long, value_name = "X.plan", conflicts_with_all = ["seeded", "context", "kv", "table", "precision"])]
    pub plan: Option<PathBuf>,
    /// How the model is compiled
    #[command(flatten)]
    pub compiler: CompilerArgs,
    /// Print one JSON object on one line instead of the text as it comes
    #[arg(long)]
    pub json: bool,
    /// Where to run: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
}

/// The form of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    model: String,
    device: String,
    precision: String,
    notes: Vec<&'a str>,
    prompt_ids: &'a [u32],
    /// Tokens of the prompt that were read: all, unless it was interrupted.
    prompt_read: usize,
    ids: &'a [u32],
    text: &'a str,
    end: End,
    times: Times,
    memory_bytes: u64,
}

#[derive(Serialize)]
struct Times {
    prompt_s: f64,
    prompt_tokens_per_s: f64,
    decode_s: f64,
    decode_tokens_per_s: f64,
}

impl Times {
    fn of(answer: &Generated) -> Times {
        Times {
            prompt_s: answer.prompt_time.as_secs_f64(),
            prompt_tokens_per_s: rate(answer.prompt_read, answer.prompt_time),
            decode_s: answer.decode_time.as_secs_f64(),
            decode_tokens_per_s: answer.decode_rate(),
        }
    }
}

/// Runs the command. Text goes to `out`; device, notes and speeds go to `log`. `cache` is the folder of the pipeline
/// cache; the answer ends as soon as `stop` is set: no further piece of the prompt is read then, and no further token
/// made.
///
/// # Errors
/// Everything of [`Generator`], an output that cannot be written.
pub fn run(
    args: &GenerateArgs,
    cache: Option<PathBuf>,
    stop: &AtomicBool,
    out: &mut dyn Write,
    log: &mut dyn Write,
) -> Result<bool, CommandError> {
    let request = Request::default().tokens(args.n).sampler(sampler(args));
    request.sampler.check().map_err(|e| CommandError::Usage(e.to_string()))?;
    let prompt = prompt(args)?;
    let progress = Progress::new();
    let choice = args.compiler.device(&args.device, cache, &progress)?;
    announce(&choice, log)?;
    let mut generator = open(args, &choice.device, &progress)?;
    let ids = generator.prompt_ids(&prompt)?;
    let answer = answer(&mut generator, &ids, &request, stop, |piece| {
        if args.json || piece.is_empty() {
            return Ok(());
        }
        progress.end();
        write!(out, "{piece}").and_then(|()| out.flush())
    });
    progress.end();
    let answer = answer?;
    if args.json {
        writeln!(out, "{}", json(args, &choice, &generator, &ids, &answer)?)?;
        return Ok(true);
    }
    writeln!(out)?;
    out.flush()?;
    writeln!(log, "{}", sums(&generator, ids.len(), &answer))?;
    explain(&choice, generator.executable(), generator.notes(), log)?;
    Ok(true)
}

/// Generates, and gives every piece to `write`, until `stop` is set or a piece cannot be written.
fn answer(
    generator: &mut Generator,
    ids: &[u32],
    request: &Request,
    stop: &AtomicBool,
    mut write: impl FnMut(&str) -> std::io::Result<()>,
) -> Result<Generated, CommandError> {
    let mut written = Ok(());
    let answer = generator.generate(ids, request, |heard| {
        if let (Ok(()), Heard::Text(piece)) = (&written, heard) {
            written = write(piece);
        }
        let stopped = stop.load(Ordering::Relaxed) || written.is_err();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    written?;
    Ok(answer)
}

/// The report of `--json`.
fn json(
    args: &GenerateArgs,
    choice: &DeviceChoice,
    generator: &Generator,
    ids: &[u32],
    answer: &Generated,
) -> Result<String, CommandError> {
    let memory = generator.executable().memory();
    let report = Report {
        model: args.model.as_ref().map_or("seeded".into(), |m| m.display().to_string()),
        device: choice.device.name(),
        precision: generator.executable().plan().precision.name().to_owned(),
        notes: generator.notes().iter().map(|n| n.0.as_str()).collect(),
        prompt_ids: ids,
        prompt_read: answer.prompt_read,
        ids: &answer.ids,
        text: &answer.text,
        end: answer.end,
        times: Times::of(answer),
        memory_bytes: (memory.shared() + memory.per_session()).0,
    };
    serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))
}

/// How much was read and made, how fast, and why it ended where that is not the model's end.
fn sums(generator: &Generator, prompt: usize, answer: &Generated) -> String {
    let times = Times::of(answer);
    let memory = generator.executable().memory();
    let bytes = memory.shared() + memory.per_session();
    let end = match answer.end {
        End::Context => "; the context is full: --context makes room for more".to_owned(),
        End::Interrupted if answer.prompt_read < prompt => {
            format!("; interrupted after {} of {} of the prompt", answer.prompt_read, count(prompt, "token"))
        }
        End::Interrupted => "; interrupted".to_owned(),
        End::Stop | End::StopText | End::Length => String::new(),
    };
    format!(
        "{}, {:.1} a second; {}, {:.1} a second; {bytes} on the device{end}",
        count(answer.prompt_read, "prompt token"),
        times.prompt_tokens_per_s,
        count(answer.ids.len(), "token"),
        times.decode_tokens_per_s,
    )
}

fn sampler(args: &GenerateArgs) -> Sampler {
    if args.greedy {
        return Sampler::default();
    }
    Sampler::default().temperature(args.temp).top_k(args.top_k).top_p(args.top_p).seed(args.seed)
}

/// What the answer begins with.
fn prompt(args: &GenerateArgs) -> Result<Prompt, CommandError> {
    let usage = |text: &str| Err(CommandError::Usage(text.to_owned()));
    match (&args.prompt, &args.chat) {
        (Some(text), _) if text.is_empty() => usage("the text of --prompt is empty: give at least a word"),
        (Some(text), _) => Ok(Prompt::Text(text.clone())),
        (None, Some(message)) => Ok(Prompt::Chat(vec![Message::new("user", message)])),
        (None, None) => usage(
            "nothing to answer: give a text to continue with --prompt \"…\", or a message to answer with --chat \"…\"",
        ),
    }
}

fn open(args: &GenerateArgs, device: &Device, progress: &Progress) -> Result<Generator, Error> {
    let plan = args.plan.as_deref().map(plan_file::load).transpose()?;
    let options = GenerateOptions::default()
        .model(LanguageOptions::default().context(args.context).cache(args.kv))
        .compile(args.compiler.options())
        .plan(plan)
        .one_answer(true);
    let Some(path) = args.model.as_deref().filter(|_| !args.seeded) else {
        return Generator::offline(1, device, &options);
    };
    progress.with_tensors(|heard| Generator::open(path, device, &options, heard))
}
