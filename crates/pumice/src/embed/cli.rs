//! `pumice embed`: arguments in, vectors to the standard output or a file; what the user should know goes to the log.

use crate::apart;
use crate::cli::compiler::CompilerArgs;
use crate::cli::escape;
use crate::cli::hub::{HubArgs, Takes};
use crate::cli::kept_table;
use crate::cli::progress::Progress;
use crate::cli::words::{count, whole};
use crate::device::{Device, DeviceChoice, DeviceKind};
use crate::embed::{Cut, EmbedError, EmbedOptions, Embedder, Embeddings, Note, npy, read_lines, write_npy};
use crate::error::Error;
use crate::plan_file;
use crate::save::Destination;
use pumice_models::{EncoderOptions, Pooling, SentenceOverrides};
use pumice_runtime::Executable;
use pumice_vulkan::{DeviceOptions, OpenError, Pick};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `pumice embed`.
#[derive(clap::Args, Clone, Debug)]
pub struct EmbedArgs {
    /// A BERT, RoBERTa, XLM-R or DistilBERT sentence encoder in Hugging Face layout, or its name in the hub, ORG/REPO
    /// (feature hub)
    #[arg(long, value_name = "DIR", required_unless_present = "seeded")]
    pub model: Option<PathBuf>,
    /// Use the small model with seeded weights, which needs no file
    #[arg(long, alias = "offline", conflicts_with = "model")]
    pub seeded: bool,
    /// Texts to embed
    #[arg(value_name = "TEXT")]
    pub texts: Vec<String>,
    /// Embed the lines of a file instead, blank ones too; `-` is the standard input
    #[arg(long, value_name = "FILE", conflicts_with = "texts")]
    pub file: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write the vectors to a NumPy file, f32 of shape (texts, width), instead of printing them; `-` is the standard
    /// output
    #[arg(long, value_name = "X.npy")]
    pub out: Option<PathBuf>,
    /// The most texts in one run
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub batch: u64,
    /// Where to run: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// Another pooling than the model's: mean, cls or max
    #[arg(long, value_name = "POOLING")]
    pub pooling: Option<Pooling>,
    /// Whether vectors get length 1, whatever the model's modules.json says
    #[arg(long, value_name = "BOOL")]
    pub normalize: Option<bool>,
    /// Cut texts to so many tokens
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub max_tokens: Option<u64>,
    /// Run a plan that `pumice compile` made of the model, and compile nothing
    #[arg(long, value_name = "X.plan", conflicts_with_all = ["seeded", "batch", "table", "precision"])]
    pub plan: Option<PathBuf>,
    /// How the model is compiled
    #[command(flatten)]
    pub compiler: CompilerArgs,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
}

/// The form of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    model: String,
    device: String,
    precision: String,
    width: usize,
    notes: Vec<&'a str>,
    cut: &'a [Cut],
    embeddings: Vec<&'a [f32]>,
}

/// Runs the command. Vectors go to `out`, the device, the precision and notes to `log`. `cache` is the folder of the
/// pipeline cache.
///
/// # Errors
/// Arguments that do not fit together, files that cannot be read or written, and everything of [`Embedder`].
pub fn run(
    args: &EmbedArgs,
    cache: Option<PathBuf>,
    out: &mut dyn Write,
    log: &mut dyn Write,
) -> Result<(), EmbedError> {
    check_place(args)?;
    let texts = texts(args)?;
    let progress = Progress::new();
    let choice = args.compiler.device(&args.device, cache, &progress)?;
    announce(&choice, log).map_err(printing)?;
    let given = args.model.as_deref().filter(|_| !args.seeded);
    let model = given.map(|given| args.hub.located(given, Takes::Folder, &progress, log)).transpose()?;
    let mut embedder = open(args, model.as_deref(), &choice.device, &progress)?;
    let bar = progress.bar(texts.len(), "texts");
    let embeddings = embedder.embed(&texts, |done| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    progress.end();
    say_cut(&embeddings.cut, log).map_err(printing)?;
    if let Some(path) = &args.out {
        write(path, &embeddings, out)?;
        let (vectors, width) = (count(embeddings.len(), "vector"), embeddings.width);
        writeln!(log, "{vectors} of {width} to {}", path.display()).map_err(printing)?;
    }
    // Where the vectors go to the standard output as a file, nothing else may stand there.
    let occupied = args.out.as_deref().is_some_and(apart::is_standard_output);
    tell(args, &choice, &embedder, &embeddings, if occupied { log } else { out })?;
    explain(&choice, embedder.executable(), embedder.notes(), log).map_err(printing)
}

/// The texts that the arguments give.
fn texts(args: &EmbedArgs) -> Result<Vec<String>, EmbedError> {
    match &args.file {
        Some(file) => read_lines(file),
        None if args.texts.is_empty() => {
            Err(EmbedError::Usage("give texts to embed, or a file of them with --file".to_owned()))
        }
        None => Ok(args.texts.clone()),
    }
}

/// Writes the vectors to a file, or to `out` for `-`.
fn write(path: &Path, embeddings: &Embeddings, out: &mut dyn Write) -> Result<(), EmbedError> {
    match path == Path::new("-") {
        true => npy::write(out, embeddings).map_err(printing),
        false => write_npy(path, embeddings),
    }
}

/// Looks at where the vectors go before the work begins.
fn check_place(args: &EmbedArgs) -> Result<(), EmbedError> {
    let Some(out) = args.out.as_ref().filter(|out| out.as_path() != Path::new("-")) else {
        return Ok(());
    };
    let failed = |source| EmbedError::Io { path: out.clone(), action: "looking for its place", source };
    Destination::look(out).map_err(failed)?;
    let reads = [&args.model, &args.file, &args.plan, &args.compiler.table];
    let reads: Vec<&Path> = reads.into_iter().flatten().map(PathBuf::as_path).collect();
    Ok(apart::check(out, &reads)?)
}

/// Prints the report or the vectors.
fn tell(
    args: &EmbedArgs,
    choice: &DeviceChoice,
    embedder: &Embedder,
    embeddings: &Embeddings,
    to: &mut dyn Write,
) -> Result<(), EmbedError> {
    if !args.json {
        return if args.out.is_none() { quiet(print(embeddings, to)) } else { Ok(()) };
    }
    let report = Report {
        model: args.model.as_ref().map_or("seeded".into(), |m| m.display().to_string()),
        device: choice.device.name(),
        precision: embedder.executable().plan().precision.name().to_owned(),
        width: embeddings.width,
        notes: embedder.notes().iter().map(|n| n.0.as_str()).collect(),
        cut: &embeddings.cut,
        // With --out the vectors are in the file.
        embeddings: if args.out.is_some() { Vec::new() } else { embeddings.rows().collect() },
    };
    let text = serde_json::to_string(&report).map_err(|e| printing(e.into()))?;
    quiet(writeln!(to, "{text}"))
}

/// Which texts are longer than the model takes. Of many, the first ones by number.
fn say_cut(cut: &[Cut], log: &mut dyn Write) -> std::io::Result<()> {
    const SHOWN: usize = 5;
    for c in cut.iter().take(SHOWN) {
        let (text, all) = (c.text + 1, c.kept + c.left_out);
        writeln!(
            log,
            "cut: text {text} has {all} tokens, the model takes {}; the rest is not in its vector",
            c.kept
        )?;
    }
    match cut.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(log, "cut: {more} more; --json lists them all"),
    }
}

/// One line per text, components separated by spaces, each in the shortest form that reads back to the same f32.
fn print(embeddings: &Embeddings, out: &mut dyn Write) -> std::io::Result<()> {
    for row in embeddings.rows() {
        let line = row.iter().map(f32::to_string).collect::<Vec<_>>().join(" ");
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// Says before an answer what runs where, in one short line.
pub(crate) fn announce(choice: &DeviceChoice, log: &mut dyn Write) -> std::io::Result<()> {
    let name = choice.device.name();
    // Which driver it is stands in the explanation.
    let short = name.split(" (driver ").next().unwrap_or_default();
    writeln!(log, "device: {short}")
}

/// Says after an answer why that device was taken, what would be faster, how exact the arithmetic was, and what the
/// user should know of the model.
pub(crate) fn explain(
    choice: &DeviceChoice,
    exe: &Executable,
    notes: &[Note],
    log: &mut dyn Write,
) -> std::io::Result<()> {
    let precision = exe.plan().precision.name();
    writeln!(log, "on {} ({}); precision: {precision}", choice.device.name(), choice.why)?;
    if let Some(better) = &choice.better {
        writeln!(log, "faster: {better}")?;
    }
    escape::notes(notes, log)
}

fn open(
    args: &EmbedArgs,
    model: Option<&Path>,
    device: &Device,
    progress: &Progress,
) -> Result<Embedder, EmbedError> {
    let overrides = SentenceOverrides::default()
        .pooling(args.pooling)
        .normalize(args.normalize)
        .max_tokens(args.max_tokens);
    let options = EmbedOptions::default()
        .encoder(EncoderOptions::default().max_batch(args.batch))
        .overrides(overrides)
        .compile(args.compiler.options())
        .plan(args.plan.as_deref().map(plan_file::load).transpose()?);
    let Some(path) = model else {
        return Ok(Embedder::offline(1, device, &options)?);
    };
    Ok(progress.with_tensors(|heard| Embedder::open(path, device, &options, heard))?)
}

/// The device that the argument names.
pub(crate) fn choose(
    name: &str,
    cache: Option<PathBuf>,
    progress: &Progress,
) -> Result<DeviceChoice, EmbedError> {
    let options = DeviceOptions::default().cache_dir(cache.clone()).observer(progress.observer());
    let pick = match name {
        "auto" => return Ok(kept_table::used(Device::choose(&options), cache.as_deref())),
        "cpu" => {
            let why = "the interpreter was asked for".to_owned();
            return Ok(DeviceChoice { device: Device::cpu(), why, better: None });
        }
        name => name.parse().map_or_else(|_| Pick::Name(name.to_owned()), Pick::Index),
    };
    let device = Device::open(&pick, &options).map_err(with_interpreter)?;
    let why = match device.kind() {
        DeviceKind::Gpu => "asked for",
        DeviceKind::CpuDriver | DeviceKind::Interpreter => "asked for; it runs on the CPU",
    };
    let choice = DeviceChoice { device, why: why.to_owned(), better: None };
    Ok(kept_table::used(choice, cache.as_deref()))
}

/// Among the devices that there are, the one that is no driver's.
fn with_interpreter(error: Error) -> Error {
    match error {
        Error::Open(OpenError::NotFound { wanted, mut available }) => {
            available.push("cpu (the interpreter)".to_owned());
            Error::Open(OpenError::NotFound { wanted, available })
        }
        other => other,
    }
}

fn printing(source: std::io::Error) -> EmbedError {
    EmbedError::Io { path: Path::new("standard output").to_owned(), action: "writing", source }
}

/// A reader that has seen enough is no error.
fn quiet(written: std::io::Result<()>) -> Result<(), EmbedError> {
    match written {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(printing),
    }
}
