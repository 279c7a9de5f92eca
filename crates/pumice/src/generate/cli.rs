//! `pumice generate`: arguments in, text to the standard output as it comes; what the user should know goes to the log.

use super::{
    End, GenerateOptions, Generated, Generator, LlamaOptions, Message, Prompt, Request, Sampling, rate,
};
use crate::cli::CommandError;
use crate::cli::compiler::CompilerArgs;
use crate::device::Device;
use crate::embed::cli::{announce, with_tensor_bar};
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
    /// A Llama-shaped GGUF file
    #[arg(long, value_name = "FILE.gguf", required_unless_present = "seeded")]
    pub model: Option<PathBuf>,
    /// Use the small model with seeded weights, which needs no file; its text means nothing
    #[arg(long, alias = "offline", conflicts_with = "model")]
    pub seeded: bool,
    /// Continue this text, taken as it is
    #[arg(long, value_name = "TEXT", required_unless_present = "chat")]
    pub prompt: Option<String>,
    /// Answer this message, through the model's chat template
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt")]
    pub chat: Option<String>,
    /// The most tokens
    #[arg(short, long = "tokens", value_name = "N", default_value_t = 256)]
    pub n: usize,
    /// Take the likeliest token every time
    #[arg(long, conflicts_with_all = ["temp", "top_k", "top_p", "seed"])]
    pub greedy: bool,
    /// Temperature: below 1 likelier tokens, above 1 rarer ones; 0 is --greedy
    #[arg(long, value_name = "T", default_value_t = 0.7)]
    pub temp: f32,
    /// Draw from the K likeliest tokens; 0 from all
    #[arg(long, value_name = "K", default_value_t = 40)]
    pub top_k: usize,
    /// Draw from the fewest tokens that have this probability together
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub top_p: f32,
    /// The same seed draws the same tokens from the same logits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Tokens that prompt and answer may have together [default: the model's, 2048 at most]
    #[arg(long, value_name = "N")]
    pub context: Option<u64>,
    /// Run a plan that `pumice compile` made of the model, and compile nothing
    #[arg(long, value_name = "X.plan", conflicts_with_all = ["seeded", "context", "table", "precision"])]
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
    fn of(prompt: usize, answer: &Generated) -> Times {
        Times {
            prompt_s: answer.prompt_time.as_secs_f64(),
            prompt_tokens_per_s: rate(prompt, answer.prompt_time),
            decode_s: answer.decode_time.as_secs_f64(),
            decode_tokens_per_s: answer.decode_rate(),
        }
    }
}

/// Runs the command. Text goes to `out`; device, notes and speeds go to `log`. `cache` is the folder of the pipeline cache;
/// the answer ends as soon as `stop` is set.
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
    let request = Request { tokens: args.n, sampling: sampling(args) };
    request.sampling.check().map_err(|e| CommandError::Usage(e.to_string()))?;
    let choice = args.compiler.device(&args.device, cache)?;
    let mut generator = open(args, &choice.device)?;
    let precision = format!("{:?}", generator.executable().plan().precision).to_lowercase();
    announce(&choice, &precision, generator.notes(), log)?;
    let ids = generator.prompt_ids(&prompt(args))?;
    let mut written = Ok(());
    let answer = generator.generate(&ids, &request, |piece| {
        if !args.json && written.is_ok() {
            written = write!(out, "{piece}").and_then(|()| out.flush());
        }
        let stopped = stop.load(Ordering::Relaxed) || written.is_err();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    written?;
    let times = Times::of(ids.len(), &answer);
    let memory = generator.executable().memory();
    let bytes = memory.shared() + memory.per_session();
    if args.json {
        let report = Report {
            model: args.model.as_ref().map_or("seeded".into(), |m| m.display().to_string()),
            device: choice.device.name(),
            precision,
            notes: generator.notes().iter().map(|n| n.0.as_str()).collect(),
            prompt_ids: &ids,
            ids: &answer.ids,
            text: &answer.text,
            end: answer.end,
            times,
            memory_bytes: bytes.0,
        };
        writeln!(out, "{}", serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))?)?;
        return Ok(true);
    }
    writeln!(out)?;
    out.flush()?;
    writeln!(
        log,
        "{} prompt tokens, {:.1} a second; {} tokens, {:.1} a second; {bytes} on the device{}",
        ids.len(),
        times.prompt_tokens_per_s,
        answer.ids.len(),
        times.decode_tokens_per_s,
        match answer.end {
            End::Context => "; the context is full: --context makes room for more",
            End::Interrupted => "; interrupted",
            End::Stop | End::Length => "",
        }
    )?;
    Ok(true)
}

fn sampling(args: &GenerateArgs) -> Sampling {
    if args.greedy {
        return Sampling::default();
    }
    Sampling { temperature: args.temp, top_k: args.top_k, top_p: args.top_p, seed: args.seed }
}

fn prompt(args: &GenerateArgs) -> Prompt {
    match (&args.prompt, &args.chat) {
        (Some(text), _) => Prompt::Text(text.clone()),
        (None, chat) => Prompt::Chat(vec![Message::new("user", chat.as_deref().unwrap_or_default())]),
    }
}

fn open(args: &GenerateArgs, device: &Device) -> Result<Generator, Error> {
    let plan = args.plan.as_deref().map(plan_file::load).transpose()?;
    let options = GenerateOptions::default()
        .model(LlamaOptions::default().context(args.context))
        .compile(args.compiler.options())
        .plan(plan);
    let Some(path) = args.model.as_deref().filter(|_| !args.seeded) else {
        return Generator::offline(1, device, &options);
    };
    with_tensor_bar(|progress| Generator::open(path, device, &options, progress))
}
