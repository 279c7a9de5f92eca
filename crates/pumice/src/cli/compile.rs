//! `pumice compile`: a model in, the file of its plan out. Running commands take it with `--plan` and compile nothing.

use super::compiler::CompilerArgs;
use super::escape;
use super::hub::{HubArgs, Takes};
use super::progress::Progress;
use super::reading::{ENCODER_BATCH, ENCODERS, ReadingArgs, refuse};
use super::words::{count, whole};
use super::{CommandError, Outcome, say};
use crate::apart;
use crate::device::DeviceKind;
use crate::error::Error;
use crate::plan_file;
use crate::save::Destination;
use pumice_compile::Options;
use pumice_import::Model;
use pumice_models::{EncoderFolder, EncoderOptions, LanguageModel, Pooling, SentenceOverrides, specialize};
use pumice_plan::{Plan, PlanForm};
use pumice_types::Target;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `pumice compile`.
#[derive(clap::Args, Clone, Debug)]
pub struct CompileArgs {
    /// A GGUF file, the folder of a language model or a sentence encoder in Hugging Face layout, or a name in the hub
    /// such as ORG/REPO:Q4_K_M (feature hub)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Where the plan goes; `-` is the standard output, and the report goes to the standard error then
    #[arg(short, long, value_name = "X.plan")]
    pub out: PathBuf,
    /// Compile for a device that is not here: h200 or lavapipe
    #[arg(long, value_name = "NAME", conflicts_with = "device")]
    pub target: Option<String>,
    /// The device to compile for: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// Tokens that prompt and answer may have together [default: the model's, 2048 at most]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub context: Option<u64>,
    /// How a language model is read
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// The most texts in one run of an encoder [default: 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub batch: Option<u64>,
    /// Another pooling than the encoder's: mean, cls or max
    #[arg(long, value_name = "POOLING")]
    pub pooling: Option<Pooling>,
    /// Whether an encoder's vectors get length 1, whatever its modules.json says
    #[arg(long, value_name = "BOOL")]
    pub normalize: Option<bool>,
    /// Cut an encoder's texts to so many tokens
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub max_tokens: Option<u64>,
    /// How it is compiled
    #[command(flatten)]
    pub compiler: CompilerArgs,
    /// Keep what explains the plan, too: what steps mean and where they come from. The interpreter needs it
    #[arg(long)]
    pub explain: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
}

/// The form of `--json`.
#[derive(Serialize)]
struct Report {
    model: String,
    plan: String,
    form: PlanForm,
    target: String,
    table: String,
    bytes: u64,
    runs: usize,
    steps: usize,
    weights_bytes: u64,
    compile_s: f64,
}

/// Runs the command. What was made is said on `out`, or on `log` where the plan itself goes to the standard output.
/// `cache` is the folder of the pipeline cache.
///
/// # Errors
/// A model that cannot be read or compiled, a target that there is not, a place that cannot be written or that is read.
pub fn run(args: &CompileArgs, cache: Option<PathBuf>, out: &mut dyn Write, log: &mut dyn Write) -> Outcome {
    let path = args.hub.located(&args.model, Takes::Any, &Progress::new(), log)?;
    check_place(args, &path)?;
    let target = target(args, cache)?;
    let (model, options) = model(args, &path, &target, log)?;
    let options = options.precision(args.compiler.precision);
    let begin = Instant::now();
    let mut plan = crate::plan(&model.graph, &target, &options)?.into_plan();
    let compile_s = begin.elapsed().as_secs_f64();
    plan.graph = Some(plan_file::graph_fingerprint(&model.graph));
    let form = if args.explain { PlanForm::Explain } else { PlanForm::Run };
    let occupied = apart::is_standard_output(&args.out);
    let bytes = if args.out == Path::new(STANDARD_OUTPUT) {
        plan_file::write(&plan, form, out)?
    } else {
        plan_file::save(&plan, &args.out, form)?
    };
    let report = report(args, &plan, form, bytes, compile_s);
    tell(args, &report, if occupied { log } else { out })?;
    Ok(true)
}

/// The name of the standard output in `-o`.
const STANDARD_OUTPUT: &str = "-";

/// Looks at where the plan goes before the work begins.
fn check_place(args: &CompileArgs, model: &Path) -> Result<(), CommandError> {
    let reads: Vec<&Path> = [model].into_iter().chain(args.compiler.table.as_deref()).collect();
    if args.out != Path::new(STANDARD_OUTPUT) {
        let looked = Destination::look(&args.out);
        looked.map_err(|e| CommandError::Usage(format!("{}: {e}", args.out.display())))?;
        apart::check(&args.out, &reads)?;
    }
    Ok(())
}

fn tell(args: &CompileArgs, report: &Report, to: &mut dyn Write) -> Result<(), CommandError> {
    if args.json {
        let text = serde_json::to_string(report).map_err(|e| CommandError::Write(e.into()))?;
        return say(to, text);
    }
    let Report { plan, target, bytes, compile_s, .. } = report;
    let (runs, steps) = (count(report.runs, "run"), count(report.steps, "step"));
    let line = format!("{plan}: {bytes} bytes, {runs}, {steps}, for {target}; compiled in {compile_s:.2} s");
    say(to, line)
}

fn report(args: &CompileArgs, plan: &Plan, form: PlanForm, bytes: u64, compile_s: f64) -> Report {
    Report {
        model: args.model.display().to_string(),
        plan: args.out.display().to_string(),
        form,
        target: plan.target.name.clone(),
        table: plan.table.to_string(),
        bytes,
        runs: plan.runs.len(),
        steps: plan.runs.iter().map(|r| r.program.steps.len()).sum(),
        weights_bytes: plan.region_size(pumice_plan::RegionKind::Weights).0,
        compile_s,
    }
}

fn target(args: &CompileArgs, cache: Option<PathBuf>) -> Result<Target, CommandError> {
    if let Some(name) = &args.target {
        let unknown =
            || CommandError::Usage(format!("no target is called `{name}`; there are h200 and lavapipe"));
        let target = Target::profile(name).ok_or_else(unknown)?;
        return Ok(match args.compiler.table()? {
            Some(table) => target.with_table(table),
            None => target,
        });
    }
    let device = args.compiler.device(&args.device, cache, &Progress::new())?.device;
    if device.kind() == DeviceKind::Interpreter && !args.explain {
        let why = "the interpreter runs what steps mean: give --explain, or another --device or --target";
        return Err(CommandError::Usage(why.to_owned()));
    }
    Ok(device.target().clone())
}

/// The model with the ranges that its commands ask for.
fn model(
    args: &CompileArgs,
    path: &Path,
    target: &Target,
    log: &mut dyn Write,
) -> Result<(Model, Options), CommandError> {
    if path.is_dir() && !LanguageModel::is_in_folder(path).map_err(Error::from)? {
        args.reading.refuse_for_encoder(path, args.context)?;
        let overrides = SentenceOverrides::default()
            .pooling(args.pooling)
            .normalize(args.normalize)
            .max_tokens(args.max_tokens);
        let folder = EncoderFolder::open(path, &overrides).map_err(Error::from)?;
        let model = folder
            .model(&EncoderOptions::default().max_batch(args.batch.unwrap_or(ENCODER_BATCH)))
            .map_err(Error::from)?;
        return Ok((model, Options::default().specializations(specialize::encoder())));
    }
    let of_others = [
        ("--batch", args.batch.is_some()),
        ("--pooling", args.pooling.is_some()),
        ("--normalize", args.normalize.is_some()),
        ("--max-tokens", args.max_tokens.is_some()),
    ];
    refuse(path, &of_others, ENCODERS)?;
    let options = args.reading.options().context(args.context).suited_to(target);
    let file = LanguageModel::open(path, &options).map_err(Error::from)?;
    escape::notes(&file.notes, log)?;
    Ok((file.model().map_err(Error::from)?, Options::default().specializations(specialize::decoder())))
}
