//! `pumice selftest`: the samples of every op on a device against the reference, by op and by kernel variant.
//!
//! Every sample is run as the device plans it. Which are run again as another device would plan them, says `choose`; in
//! the order of the ops, results come as soon as those before them are there (`threads`). How far it is, says `left`.
//!
//! A device keeps every kernel that it ever made. On CPU drivers, whose kernels are memory of this process, samples
//! come in batches, each with a device of its own, so that what a batch took is given back: by the device at once, by
//! the C library where `memory` sees to it.

mod choose;
mod left;
mod memory;
mod threads;

use self::choose::{Choice, Met, selections};
use self::left::Left;
use self::threads::Event;
use super::progress::Progress;
use super::trial::{Trial, plan, run as try_sample};
use super::{CommandError, Outcome, say};
use crate::device::{Device, DeviceKind};
use crate::embed::cli::choose;
use pumice_cpu_ref::Reference;
use pumice_ir::{Op, Sample};
use pumice_plan::CheckedPlan;
use pumice_types::Target;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Values of samples that are run on a GPU have so many elements at most.
const GPU_ELEMENTS: u64 = 1 << 20;
/// Samples of a batch on a CPU driver. With 96 the process took 549 MiB at most, over samples of attention (lavapipe of
/// Mesa 22.3, two threads, 2026-11-24), with 256 it took 642. Over samples of matmul, whose kernels know 14 encodings
/// of blocks, it took 665 with 64 and 611 with 40 (2026-11-30).
const BATCH: usize = 40;
/// The longest sample takes seconds.
const SILENCE: Duration = Duration::from_secs(20);

/// Arguments of `pumice selftest`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Where to run: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// Only the op of this name, or the ops where it is given more than once
    #[arg(long, value_name = "NAME", conflicts_with = "only")]
    pub op: Vec<String>,
    /// Only ops whose name contains this
    #[arg(long, value_name = "PART")]
    pub only: Option<String>,
    /// Leave out samples with a value of more elements [default: 1048576; 16384 on a CPU driver; 4096 on the
    /// interpreter]
    #[arg(long, value_name = "N")]
    pub max_elements: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A line of a table: cases of one op, or those in which one kernel variant ran.
#[derive(Clone, Debug, Default, Serialize)]
struct Tally {
    cases: usize,
    /// Of floats: the largest |got − want| / max(1, |want|).
    worst_error: f64,
    failures: usize,
    left_out: usize,
}

impl Tally {
    fn add(&mut self, trial: &Trial) {
        self.cases += 1;
        self.worst_error = self.worst_error.max(trial.worst);
        self.failures += usize::from(trial.wrong.is_some());
    }
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
struct Report {
    device: String,
    why: String,
    ops: BTreeMap<&'static str, Tally>,
    kernels: BTreeMap<String, Tally>,
    /// Samples that the compiler refuses on a device without 64-bit integers; they count as left out.
    refused: Vec<String>,
    /// Variants that the device can run and no sample made run.
    not_run: Vec<String>,
    failed: Vec<String>,
    seconds: f64,
}

impl Report {
    fn take(&mut self, op: &'static str, label: &str, found: Vec<Found>) {
        for found in found {
            match found {
                Found::Trial(trial) => self.add(op, label, &trial),
                Found::TooLarge => self.ops.entry(op).or_default().left_out += 1,
                Found::Refused(why) => {
                    self.ops.entry(op).or_default().left_out += 1;
                    self.refused.extend(why.iter().map(|why| format!("{op}: {label}: {why}")));
                }
            }
        }
    }

    fn add(&mut self, op: &'static str, label: &str, trial: &Trial) {
        self.ops.entry(op).or_default().add(trial);
        for kernel in &trial.kernels {
            self.kernels.entry(kernel.clone()).or_default().add(trial);
        }
        if let Some(why) = &trial.wrong {
            self.failed.push(format!("{op}: {label}: {why}"));
        }
    }
}

/// Runs the samples and prints tables: op or kernel variant, cases, worst error, failures. All is well if nothing
/// failed.
///
/// # Errors
/// A device that cannot be opened, a filter that no op fits, an output that cannot be written.
pub fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let ops = ops(args)?;
    let progress = Progress::new();
    let open = || choose(&args.device, None, &progress);
    let choice = open()?;
    let run = SampleRun {
        ops: &ops,
        targets: targets(&choice.device),
        limit: args.max_elements.unwrap_or_else(|| usual_limit(&choice.device)),
        json: args.json,
    };
    let start = Instant::now();
    let mut report = Report { device: choice.device.name(), why: choice.why.clone(), ..Report::default() };
    if !args.json {
        let (device, why, limit) = (&report.device, &report.why, run.limit);
        say(out, format_args!("device: {device} ({why}); values of up to {limit} elements"))?;
        say(out, format_args!("\n{}", heading("op")))?;
    }
    run.on(choice.device, || Ok(open()?.device), &mut report, out)?;
    report.seconds = start.elapsed().as_secs_f64();
    let all = ops.len() == Op::NAMES.len();
    report.not_run =
        runnable(&run.targets).into_iter().filter(|k| all && !report.kernels.contains_key(k)).collect();
    if args.json {
        let text = serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))?;
        say(out, text)?;
    } else {
        finish(&report, out)?;
    }
    Ok(report.failed.is_empty())
}

/// Where samples run on a CPU driver, runs this program again so that memory is given back, and says with which status
/// it ended; none where this process can do it. For the `pumice` program alone, before [`run`].
///
/// # Errors
/// A device that cannot be opened, a program that cannot be started.
pub fn run_again(args: &Args) -> Result<Option<i32>, CommandError> {
    let kind = choose(&args.device, None, &Progress::new())?.device.kind();
    if kind == DeviceKind::CpuDriver { memory::again() } else { Ok(None) }
}

/// Elements that a value has at most where the arguments say nothing.
fn usual_limit(device: &Device) -> u64 {
    match device.kind() {
        DeviceKind::Gpu => GPU_ELEMENTS,
        DeviceKind::CpuDriver => 1 << 14,
        DeviceKind::Interpreter => 1 << 12,
    }
}

/// What is run.
struct SampleRun<'a> {
    ops: &'a [&'static str],
    targets: Vec<Target>,
    /// Elements that a value has at most.
    limit: u64,
    json: bool,
}

impl SampleRun<'_> {
    /// Runs all batches, the first on this device, others on one that is opened.
    fn on(
        &self,
        first: Device,
        open: impl Fn() -> Result<Device, CommandError>,
        report: &mut Report,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let at_once = first.kind() == DeviceKind::Gpu;
        let (mut device, mut left, mut met) = (Some(first), Left::new(self.ops), Met::new());
        for batch in batches(self.ops, at_once) {
            let opened = device.take().map_or_else(&open, Ok)?;
            let choices = choose::choices(&opened, &self.targets, self.limit, &batch.samples, &mut met);
            let out = (!self.json).then_some(&mut *out as &mut dyn Write);
            let mut shown = Shown { report: &mut *report, left: &mut left, out };
            run_batch(&opened, &self.targets, &batch, &choices, &mut shown)?;
            // Another batch may go on with what costs nothing to keep.
            device = (opened.kind() != DeviceKind::CpuDriver).then_some(opened);
        }
        Ok(())
    }
}

const NAMED: &str = "ops are named as in `.ir` files, such as `matmul` or `layer_norm`";

/// That there is no such op, and which have the word in their names.
fn unknown_op(name: &str) -> String {
    let like: Vec<&str> = Op::NAMES.iter().copied().filter(|op| op.contains(name)).collect();
    let like = if like.is_empty() { String::new() } else { format!(" (there is {})", like.join(", ")) };
    let parts = "a function of the builder that is made of several ops is tested by those";
    format!("no op is called `{name}`{like}; {NAMED}, and {parts}")
}

/// The ops that the arguments ask for.
fn ops(args: &Args) -> Result<Vec<&'static str>, CommandError> {
    if let Some(unknown) = args.op.iter().find(|name| !Op::NAMES.contains(&name.as_str())) {
        return Err(CommandError::Usage(unknown_op(unknown)));
    }
    let wanted = |op: &&str| match &args.only {
        Some(part) => op.contains(part.as_str()),
        None => args.op.is_empty() || args.op.iter().any(|name| name == op),
    };
    let ops: Vec<&'static str> = Op::NAMES.iter().copied().filter(wanted).collect();
    match &args.only {
        Some(part) if ops.is_empty() => {
            Err(CommandError::Usage(format!("no op has `{part}` in its name; {NAMED}")))
        }
        _ => Ok(ops),
    }
}

/// A sample with the name of its op.
type Named = (&'static str, Sample);

/// Samples that run on one device.
struct Batch {
    samples: Vec<Named>,
    /// The next batch goes on with the last one's op.
    goes_on: bool,
}

/// The samples of ops, in order: on a GPU all at once, so that all kernels are made side by side, else some at a time.
fn batches(ops: &[&'static str], at_once: bool) -> impl Iterator<Item = Batch> {
    let of = |op: &&'static str| {
        let op = *op;
        Op::samples(op).into_iter().map(move |sample| (op, sample))
    };
    let mut rest = ops.iter().flat_map(of).peekable();
    std::iter::from_fn(move || {
        let most = if at_once { usize::MAX } else { BATCH };
        let samples: Vec<Named> = rest.by_ref().take(most).collect();
        let last = samples.last()?.0;
        let goes_on = rest.peek().is_some_and(|(next, _)| *next == last);
        Some(Batch { samples, goes_on })
    })
}

/// Where results go.
struct Shown<'a, 'o> {
    report: &'a mut Report,
    left: &'a mut Left<'o>,
    /// For a line as soon as an op is done.
    out: Option<&'a mut dyn Write>,
}

fn run_batch(
    device: &Device,
    targets: &[Target],
    batch: &Batch,
    choices: &[Choice],
    shown: &mut Shown<'_, '_>,
) -> Result<(), CommandError> {
    let samples = &batch.samples;
    let runner = Runner::new(device, targets);
    if runner.turns.is_some() {
        runner.prepare(choices, samples);
    }
    let test = |i: usize| runner.test(i, &choices[i], &samples[i].1);
    let mut written = Ok(());
    threads::in_order(samples.len(), SILENCE, test, |event| {
        let (i, found) = match event {
            Event::Result(i, found) => (i, found),
            Event::Silence(time, running) => return tell_silence(time, &running, samples),
        };
        let (op, sample) = &samples[i];
        shown.report.take(op, &sample.label, found);
        shown.left.tell(op, samples.len() - i - 1);
        // An op is done when the next sample is another's.
        let done = samples.get(i + 1).map_or(!batch.goes_on, |(next, _)| next != op);
        if let Some(out) = shown.out.as_deref_mut().filter(|_| done && written.is_ok()) {
            written = say(out, line(op, shown.report.ops.entry(op).or_default()));
        }
    });
    written
}

/// Says on the standard error which samples take so long: a driver that hangs gives no other sign.
fn tell_silence(time: Duration, running: &[usize], samples: &[(&'static str, Sample)]) {
    let names: Vec<String> =
        running.iter().filter_map(|&i| samples.get(i)).map(|(op, s)| format!("{op}: {}", s.label)).collect();
    eprintln!("no sample has ended for {} s; in work: {}", time.as_secs(), names.join("; "));
}

/// What the device is planned for. The interpreter runs the meaning of kernels, so one is enough there.
fn targets(device: &Device) -> Vec<Target> {
    let own = device.target().clone();
    if device.kind() == DeviceKind::Interpreter { vec![own] } else { selections(own) }
}

/// How a sample ended for one target.
enum Found {
    Trial(Trial),
    TooLarge,
    /// The compiler refuses it on a device without 64-bit integers, with these reasons.
    Refused(Vec<String>),
}

/// Runs samples on a device.
struct Runner<'a> {
    device: &'a Device,
    targets: &'a [Target],
    /// On a GPU all kernels are made first, on every thread, and then samples run, two at a time. Most of the time goes
    /// into kernels that the driver has not met, and a submission waits for kernels that are being made; the driver's
    /// own locks make more samples at a time slower (H200, 16 threads, 2026-11-22, all 6,563 samples after their
    /// kernels: one at a time 21.7 s, two 18.1, four 21.6, sixteen 24.6).
    turns: Option<[Mutex<()>; 2]>,
}

impl<'a> Runner<'a> {
    fn new(device: &'a Device, targets: &'a [Target]) -> Runner<'a> {
        Runner { device, targets, turns: (device.kind() == DeviceKind::Gpu).then(Default::default) }
    }

    /// Makes the kernels of all samples at once: a thread that made those of one sample after the other would wait for
    /// kernels that others are making. What fails here fails again in its test, which tells.
    fn prepare(&self, choices: &[Choice], samples: &[(&'static str, Sample)]) {
        let plans = |i: usize| -> Vec<CheckedPlan> {
            let Ok(graph) = &samples[i].1.graph else { return Vec::new() };
            choices[i].targets.iter().filter_map(|&target| plan(graph, &self.targets[target]).ok()).collect()
        };
        let mut all = Vec::new();
        threads::in_order(samples.len(), Duration::MAX, plans, |event| {
            if let Event::Result(_, plans) = event {
                all.extend(plans);
            }
        });
        let _ = self.device.prepare(&all);
    }

    /// Runs a sample, of this number, for the chosen targets.
    fn test(&self, number: usize, choice: &Choice, sample: &Sample) -> Vec<Found> {
        let wrong = |why: String| Found::Trial(Trial { wrong: Some(why), ..Trial::default() });
        let mut found: Vec<Found> = choice.wrong.iter().cloned().map(wrong).collect();
        if choice.too_large {
            return vec![Found::TooLarge];
        }
        let Ok(graph) = &sample.graph else { return found };
        let reference = match Reference::new(sample, graph) {
            Ok(reference) => reference,
            Err(why) => return vec![wrong(format!("the reference: {why}"))],
        };
        for &target in &choice.targets {
            found.push(match plan(graph, &self.targets[target]) {
                Ok(plan) => {
                    let turn = self.turns.as_ref().map(|turns| &turns[number % turns.len()]);
                    let _turn = turn.map(|t| t.lock().unwrap_or_else(PoisonError::into_inner));
                    Found::Trial(try_sample(self.device, plan, sample, graph, &reference))
                }
                Err(why) => wrong(why.to_string()),
            });
        }
        found.extend(choice.refused.clone().map(Found::Refused));
        found
    }
}

/// Variants that the device can run, as `kernel.variant`; the built-in advance of the frame is no dispatch, and no op
/// is lowered to `fill` yet.
fn runnable(targets: &[Target]) -> Vec<String> {
    let Some(target) = targets.first() else { return Vec::new() };
    let built_in = |name| name == "fill" || pumice_plan::kernels::frame::DECLS.iter().any(|k| k.name == name);
    let kernels = pumice_plan::kernels::all().filter(|k| !built_in(k.name));
    let variants = kernels.flat_map(|k| k.variants.iter().map(move |v| (k.name, v)));
    variants.filter(|(_, v)| v.runs_on(target)).map(|(k, v)| format!("{k}.{}", v.name)).collect()
}

/// The second table, the failures, and the sums.
fn finish(report: &Report, out: &mut dyn Write) -> Result<(), CommandError> {
    say(out, format_args!("\n{}", heading("kernel variant")))?;
    for (name, tally) in &report.kernels {
        say(out, line(name, tally))?;
    }
    if !report.not_run.is_empty() {
        say(
            out,
            format_args!("\nvariants that no sample of these sizes runs: {}", report.not_run.join(", ")),
        )?;
    }
    for refusal in &report.refused {
        say(out, format_args!("left out: {refusal}"))?;
    }
    for failure in &report.failed {
        say(out, format_args!("FAILED {failure}"))?;
    }
    let sum = |part: fn(&Tally) -> usize| report.ops.values().map(part).sum::<usize>();
    let (cases, failed, left_out) = (sum(|t| t.cases), sum(|t| t.failures), sum(|t| t.left_out));
    let seconds = report.seconds;
    say(
        out,
        format_args!("\n{} passed, {failed} failed, {left_out} left out; {seconds:.1} s", cases - failed),
    )?;
    if failed > 0 {
        say(out, "the driver or pumice is wrong: update the driver; if it stays, report it with this table")?;
    }
    Ok(())
}

fn heading(first: &str) -> String {
    format!("{first:40} {:>6} {:>12} {:>8} {:>8}", "cases", "worst error", "failures", "left out")
}

fn line(name: &str, t: &Tally) -> String {
    format!("{name:40} {:>6} {:>12.1e} {:>8} {:>8}", t.cases, t.worst_error, t.failures, t.left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(only: &str) -> Args {
        let op = Vec::new();
        Args { device: "cpu".into(), op, only: Some(only.into()), max_elements: Some(64), json: true }
    }

    #[test]
    fn the_interpreter_passes_and_the_report_counts() {
        let mut out = Vec::new();
        assert!(run(&args("relu"), &mut out).expect("written"));
        let report: serde_json::Value = serde_json::from_slice(&out).expect("one JSON object");
        assert!(report["ops"]["relu"]["cases"].as_u64() > Some(0));
        assert_eq!(report["failed"].as_array().map(Vec::len), Some(0));
        assert!(report["kernels"].as_object().is_some_and(|k| !k.is_empty()));
    }

    #[test]
    fn what_the_compiler_refuses_without_int64_is_left_out() {
        let device = Device::cpu();
        let mut target = device.target().clone();
        target.features.int64 = false;
        let mut report = Report::default();
        let samples: Vec<(&str, Sample)> = Op::samples("div").into_iter().map(|s| ("div", s)).collect();
        let targets = [target];
        let choices = choose::choices(&device, &targets, 64, &samples, &mut Met::new());
        for (i, ((_, sample), choice)) in samples.iter().zip(&choices).enumerate() {
            report.take("div", &sample.label, Runner::new(&device, &targets).test(i, choice, sample));
        }
        assert_eq!(report.failed, Vec::<String>::new());
        assert!(report.refused.iter().all(|r| r.contains("divides 64-bit integers")), "{:?}", report.refused);
        let div = &report.ops["div"];
        assert!(div.cases > 10 && div.left_out >= report.refused.len() && !report.refused.is_empty());
    }

    /// On lavapipe all samples together took 3.2 GB: a device keeps the kernels of every sample.
    #[test]
    fn batches_are_bounded_and_hold_every_sample_once() {
        let parts: Vec<Batch> = batches(Op::NAMES, false).collect();
        assert!(parts.len() > 20 && parts.iter().all(|batch| batch.samples.len() <= BATCH));
        // The line of an op is shown once.
        let ends = |batch: &Batch| {
            let within = batch.samples.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
            within + usize::from(!batch.goes_on)
        };
        assert_eq!(parts.iter().map(ends).sum::<usize>(), Op::NAMES.len());
        let whole: Vec<Batch> = batches(Op::NAMES, true).collect();
        assert_eq!(whole.len(), 1);
        assert_eq!(parts.iter().map(|batch| batch.samples.len()).sum::<usize>(), whole[0].samples.len());
    }

    #[test]
    fn one_op_is_asked_for_by_its_whole_name() {
        let named =
            |names: &[&str]| Args { op: names.iter().map(|n| (*n).into()).collect(), only: None, ..args("") };
        assert_eq!(ops(&named(&["max", "add"])).expect("there"), ["add", "max"]);
        assert!(ops(&named(&["ad"])).expect_err("none").to_string().contains("`ad`"));
        assert_eq!(ops(&named(&[])).expect("all").len(), Op::NAMES.len());
    }

    #[test]
    fn a_filter_that_fits_nothing_is_refused() {
        assert!(matches!(run(&args("no such op"), &mut Vec::new()), Err(CommandError::Usage(_))));
    }
}
