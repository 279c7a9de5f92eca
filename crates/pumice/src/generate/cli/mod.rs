//! `pumice generate`: arguments in, text to the standard output as it comes; what the user should know goes to the log.
//!
//! With something to answer it answers once; with nothing, on a terminal, it is a conversation (`talk`).

mod args;
mod lines;
mod report;
mod talk;

pub use crate::cli::interrupts::Interrupts;
pub use args::{GenerateArgs, LaterArgs, SamplingArgs, Tokens};

use self::args::Task;
use self::lines::Editor;
use self::report::Reported;
use super::{Event, GenerateOptions, Generated, Generator, Request};
use crate::cli::CommandError;
use crate::cli::escape;
use crate::cli::hub::Takes;
use crate::cli::progress::Progress;
use crate::device::Device;
use crate::embed::cli::announce;
use crate::error::Error;
use crate::plan_file;
use pumice_runtime::Interrupt;
use std::hash::{BuildHasher, RandomState};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Tokens of one answer, where nobody says how many.
const TOKENS: usize = 256;

/// Runs the command. Text goes to `out`; device, notes and speeds go to `log`. `cache` is the folder of the pipeline
/// cache.
///
/// # Errors
/// Everything of [`Generator`], an output that cannot be written.
pub fn run(
    args: &GenerateArgs,
    cache: Option<PathBuf>,
    interrupts: &Interrupts,
    out: &mut dyn Write,
    log: &mut dyn Write,
) -> Result<bool, CommandError> {
    let task = args.task(std::io::stdin().is_terminal())?;
    // As many bits as every reader of JSON keeps.
    let seed = RandomState::new().hash_one(std::process::id()) >> 11;
    let most = if matches!(task, Task::Talk) { usize::MAX } else { TOKENS };
    // Options that cannot be are found before a model is read.
    args.request(&Default::default(), seed, most).check().map_err(usage)?;
    let options = options(args, matches!(task, Task::Answer(_)))?;
    let progress = Progress::new();
    let choice = args.compiler.device(&args.device, cache, &progress)?;
    announce(&choice, log)?;
    let path = located(args, &progress, log)?;
    let reads = reads(args, path.as_ref());
    let mut generator = open(path.as_deref(), &options, &choice.device, &progress)?;
    let request = args.request(generator.suggested_sampling(), seed, most).interrupt(interrupts.stop.clone());
    request.check().map_err(usage)?;
    let seed = tell_sampling(&generator, &request, log)?;
    let Task::Answer(prompt) = task else {
        let reported = Reported { args, choice: &choice, generator: &generator, reads: &reads, seed };
        reported.explain(log)?;
        return talk::talk(&reported, &request, &progress, interrupts, &mut Editor::new(), out, log);
    };
    let ids = generator.prompt_ids(&prompt)?;
    let answer = once(args, &mut generator, (&ids, &request), interrupts, &progress, out)?;
    let reported = Reported { args, choice: &choice, generator: &generator, reads: &reads, seed };
    tell(&reported, &ids, &answer, out, log)?;
    Ok(true)
}

/// What is said after an answer: a report, or its sums below the text.
fn tell(
    reported: &Reported<'_>,
    ids: &[u32],
    answer: &Generated,
    out: &mut dyn Write,
    log: &mut dyn Write,
) -> Result<(), CommandError> {
    if reported.args.json {
        return Ok(writeln!(out, "{}", reported.json(ids, answer)?)?);
    }
    writeln!(out)?;
    out.flush()?;
    writeln!(log, "{}", reported.sums(ids.len(), answer))?;
    Ok(reported.explain(log)?)
}

/// One answer, whose text goes to `out` as it comes unless it goes there as a report.
fn once(
    args: &GenerateArgs,
    generator: &mut Generator,
    (ids, request): (&[u32], &Request),
    interrupts: &Interrupts,
    progress: &Progress,
    out: &mut dyn Write,
) -> Result<Generated, CommandError> {
    let write = text_to(out, args.json);
    hearing(&interrupts.stop, progress, write, |listen| generator.generate(ids, request, listen))
}

/// Writes the text of an answer as it comes, unless a report will have it. To a terminal, what controls one goes as an
/// escape: a model says what a stranger's text makes it say.
fn text_to(out: &mut dyn Write, is_json: bool) -> impl FnMut(&str) -> std::io::Result<()> {
    let is_terminal = std::io::stdout().is_terminal();
    move |piece| {
        if is_json {
            return Ok(());
        }
        match is_terminal {
            true => write!(out, "{}", escape::escaped(piece, &['\n', '\t', '\r']))?,
            false => write!(out, "{piece}")?,
        }
        out.flush()
    }
}

fn usage(e: impl std::fmt::Display) -> CommandError {
    CommandError::Usage(e.to_string())
}

/// Says how tokens are chosen where the user did not: what is suggested, and the seed, where there is one.
fn tell_sampling(
    generator: &Generator,
    request: &Request,
    log: &mut dyn Write,
) -> std::io::Result<Option<u64>> {
    let suggested = generator.suggested_sampling();
    if !suggested.is_empty() {
        writeln!(log, "the model's makers suggest {suggested}")?;
    }
    let seed = (!request.sampler.is_greedy()).then_some(request.sampler.seed);
    if let Some(seed) = seed {
        writeln!(log, "seed {seed}")?;
    }
    Ok(seed)
}

/// Hears how far an answer is.
type Hears<'h> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'h;

/// Makes an answer, shows how far the prompt is read, and gives every piece of text to `write`, until `stop` is set or
/// a piece cannot be written.
fn hearing(
    stop: &Interrupt,
    progress: &Progress,
    mut write: impl FnMut(&str) -> std::io::Result<()>,
    run: impl FnOnce(&mut Hears<'_>) -> Result<Generated, Error>,
) -> Result<Generated, CommandError> {
    let mut written = Ok(());
    let mut bar = None;
    let answer = run(&mut |event| {
        match event {
            Event::Prompt { read, of } if read > 0 => {
                bar.get_or_insert_with(|| progress.bar(of, "tokens of the prompt")).set_position(read as u64);
            }
            Event::Prompt { .. } => {}
            Event::Text(piece) => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
                if written.is_ok() && !piece.is_empty() {
                    progress.end();
                    written = write(piece);
                }
            }
        }
        let stopped = stop.is_set() || written.is_err();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.end();
    let answer = answer?;
    written?;
    Ok(answer)
}

/// Options of one answer, or of a conversation.
fn options(args: &GenerateArgs, one_answer: bool) -> Result<GenerateOptions, CommandError> {
    let plan = args.plan.as_deref().map(plan_file::load).transpose()?;
    let language = args.reading.options().context(args.context);
    Ok(GenerateOptions::default()
        .model(language)
        .compile(args.compiler.options())
        .plan(plan)
        .one_answer(one_answer)
        .chat(args.chat_settings()?))
}

/// All that the command reads.
fn reads(args: &GenerateArgs, model: Option<&PathBuf>) -> Vec<PathBuf> {
    let others = [&args.template, &args.tools, &args.plan, &args.compiler.table];
    model.into_iter().chain(others.into_iter().flatten()).cloned().collect()
}

fn open(
    path: Option<&Path>,
    options: &GenerateOptions,
    device: &Device,
    progress: &Progress,
) -> Result<Generator, Error> {
    match path {
        Some(path) => progress.with_tensors(|progress| Generator::open(path, device, options, progress)),
        None => Generator::seeded(1, device, options),
    }
}

/// Where the model lies; none for the seeded one.
fn located(
    args: &GenerateArgs,
    progress: &Progress,
    log: &mut dyn Write,
) -> Result<Option<PathBuf>, CommandError> {
    let given = args.model.as_deref().filter(|_| !args.seeded);
    Ok(given.map(|given| args.hub.located(given, Takes::Any, progress, log)).transpose()?)
}
