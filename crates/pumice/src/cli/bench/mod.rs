//! `pumice bench`: how fast a language model reads prompts and makes tokens, under the names that llama-bench gives.
//!
//! In: a model, lengths, depths. Out: a row a test, with the bytes that decoding reads and the arithmetic of prompts
//! beside; on request JSON and a drawing. Nothing of the model's text side is read.

mod args;
mod measure;
mod report;
mod svg;
mod traffic;

pub use args::BenchArgs;

use self::args::{Kind, Test};
use self::measure::Bench;
use self::report::{LoadTimes, Rows, Subject, Tested};
use super::progress::Progress;
use super::{CommandError, Outcome, say};
use crate::device::{Device, DeviceChoice};
use crate::embed::cli::{announce, explain};
use crate::error::Error;
use crate::generate::{GenerateOptions, Generator};
use crate::save::Destination;
use crate::{apart, save};
use pumice_models::LanguageModel;
use pumice_plan::Plan;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The family of the small model with seeded weights.
const SEEDED: &str = "seeded";

/// Runs the command. Rows go to `out`; device and notes go to `log`. `cache` is the folder of the pipeline cache.
///
/// # Errors
/// Arguments that ask for nothing or for what is refused; a model that cannot be read or has a shorter context; a
/// device that fails; an output that cannot be written.
pub fn run(args: &BenchArgs, cache: Option<PathBuf>, out: &mut dyn Write, log: &mut dyn Write) -> Outcome {
    let tests = args.tests()?;
    let progress = Progress::new();
    let args = &args.located(&progress, log)?;
    check_place(args)?;
    let (family, trained) = described(args)?;
    let context = args.planned(&tests, trained)?;
    let choice = args.compiler.device(&args.device, cache, &progress)?;
    announce(&choice, log)?;
    let scene = Scene { args, context, device: &choice.device, progress: &progress };
    let (generator, cold) = scene.opened()?;
    drop(generator);
    let (generator, warm) = scene.opened()?;
    let load = LoadTimes { cold_s: cold.as_secs_f64(), warm_s: warm.as_secs_f64() };
    let subject = scene.subject(family, generator.executable().plan());
    let rows = (!args.json).then(|| Rows::new(&subject));
    if let Some(rows) = &rows {
        say(out, rows.head())?;
    }
    let tested = scene.measured(&generator, &tests, |tested| match &rows {
        Some(rows) => say(out, rows.row(tested)),
        None => Ok(()),
    })?;
    progress.end();
    if let Some(path) = &args.svg {
        draw(path, &svg::picture(&subject, &tested))?;
    }
    if args.json {
        let notes: Vec<&str> = generator.notes().iter().map(|n| n.0.as_str()).collect();
        let text =
            report::json(&subject, load, &tested, &notes).map_err(|e| CommandError::Write(e.into()))?;
        say(out, text)?;
        return Ok(true);
    }
    tell(&subject, load, &choice, &generator, log)?;
    Ok(true)
}

/// What stands below the rows.
fn tell(
    subject: &Subject,
    load: LoadTimes,
    choice: &DeviceChoice,
    generator: &Generator,
    log: &mut dyn Write,
) -> Result<(), CommandError> {
    writeln!(
        log,
        "load: {:.2} s cold, {:.2} s warm; {} levels a token; copies on the device: {:.1} GB/s",
        load.cold_s, load.warm_s, subject.levels_per_token, subject.copy_gb_per_s
    )?;
    Ok(explain(choice, generator.executable(), generator.notes(), log)?)
}

/// The family of the model, and the tokens that it was trained for.
fn described(args: &BenchArgs) -> Result<(String, u64), CommandError> {
    let Some(path) = &args.model else { return Ok((SEEDED.to_owned(), u64::from(u16::MAX))) };
    let model = LanguageModel::open(path, &args.reading.options()).map_err(Error::from)?;
    Ok((model.family().to_owned(), model.trained_context))
}

/// The drawing must not lie over what is read, and there must be a place for it.
fn check_place(args: &BenchArgs) -> Result<(), CommandError> {
    let Some(svg) = &args.svg else { return Ok(()) };
    let reads = [&args.model, &args.compiler.table];
    let reads: Vec<&Path> = reads.into_iter().flatten().map(PathBuf::as_path).collect();
    apart::check(svg, &reads)?;
    Destination::look(svg).map(|_| ()).map_err(|e| unwritten(svg, &e))
}

fn draw(path: &Path, picture: &str) -> Result<(), CommandError> {
    save::replace(path, picture.as_bytes()).map_err(|e| unwritten(path, &e))
}

fn unwritten(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Usage(format!("{}: {error}", path.display()))
}

/// What all tests have in common.
struct Scene<'s> {
    args: &'s BenchArgs,
    context: u64,
    device: &'s Device,
    progress: &'s Progress,
}

impl Scene<'_> {
    /// The model on the device, and the time until a first token was read.
    fn opened(&self) -> Result<(Generator, Duration), Error> {
        let model = self.args.reading.options().context(self.context);
        let options =
            GenerateOptions::default().model(model).compile(self.args.compiler.options()).one_answer(true);
        let begun = Instant::now();
        let generator = match &self.args.model {
            Some(path) => {
                let mut file = LanguageModel::open(path, &options.model_options(self.device))?;
                // No token ends what is measured.
                file.config.end_of_sequence.clear();
                self.progress.with_tensors(|heard| Generator::of(file, None, self.device, &options, heard))?
            }
            None => Generator::seeded(1, self.device, &options)?,
        };
        Bench::new(&generator, generator.vocab())?.first_token()?;
        Ok((generator, begun.elapsed()))
    }

    fn subject(&self, family: String, plan: &Plan) -> Subject {
        let name = self.args.model.as_ref().map(|path| path.file_name().unwrap_or(path.as_os_str()));
        let params = plan.params.iter();
        Subject {
            model: name.map_or_else(|| SEEDED.to_owned(), |name| name.to_string_lossy().into_owned()),
            family,
            params: params.clone().map(|p| p.shape.iter().product::<u64>()).sum(),
            model_bytes: params.map(|p| p.span.len.0).sum(),
            device: self.device.name(),
            copy_gb_per_s: self.device.target().tuning.bytes_per_us / 1e3,
            kv: self.args.reading.cache().name(),
            precision: plan.precision.name(),
            context: self.context,
            levels_per_token: traffic::levels_of_token(plan),
        }
    }

    /// All tests, each told as soon as it has run.
    fn measured(
        &self,
        generator: &Generator,
        tests: &[Test],
        mut told: impl FnMut(&Tested) -> Result<(), CommandError>,
    ) -> Result<Vec<Tested>, CommandError> {
        let plan = generator.executable().plan();
        let mut bench = Bench::new(generator, generator.vocab())?;
        let mut all = Vec::with_capacity(tests.len());
        for &test in tests {
            let times = self.args.repetitions as usize;
            let bar = self.progress.bar(times + 1, &test.name());
            let samples = bench.test(&test, times, || bar.inc(1));
            bar.finish_and_clear();
            let tested = Tested { test, samples: samples?, work: work(plan, &test) };
            told(&tested)?;
            all.push(tested);
        }
        Ok(all)
    }
}

/// Arithmetic of a prompt, or bytes of a token in the middle of what is made.
fn work(plan: &Plan, test: &Test) -> u64 {
    match test.kind {
        Kind::Decode => traffic::bytes_of_token(plan, test.depth + 1 + test.tokens / 2),
        Kind::Prompt => {
            let piece = plan.symbols.find("t").and_then(|id| plan.symbols.get(id)).map_or(1, |t| t.max);
            traffic::flops_of_prompt(plan, test.depth, test.tokens, piece)
        }
    }
}
