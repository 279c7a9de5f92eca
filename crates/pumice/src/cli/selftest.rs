//! `pumice selftest`: the samples of every op on a device against the reference, by op and by kernel variant.
//!
//! Samples are planned as the device wants them, and again as devices would that select otherwise (of the other kind,
//! with few compute units, without subgroups), where that gives other kernels: so every variant that the device can run
//! is run. Samples of long axes, which a driver may not let loops walk, run on every device but the interpreter, however
//! many elements they have, as the device wants them.

use super::trial::{Trial, code, largest, plan, run as try_sample};
use super::{CommandError, Outcome, say};
use crate::device::{Device, DeviceKind};
use crate::embed::cli::choose;
use crate::error::Error;
use pumice_compile::CompileError;
use pumice_cpu_ref::Reference;
use pumice_ir::{Op, Sample};
use pumice_types::Target;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Values of samples that are run on a GPU have so many elements at most.
const GPU_ELEMENTS: u64 = 1 << 20;

/// Arguments of `pumice selftest`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Where to run: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// Only ops whose name contains this
    #[arg(long, value_name = "OP")]
    pub only: Option<String>,
    /// Leave out samples with a value of more elements [default: 1048576; 16384 on a CPU driver; 4096 on the interpreter]
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

/// Runs the samples and prints tables: op or kernel variant, cases, worst error, failures. All is well if nothing failed.
///
/// # Errors
/// A device that cannot be opened, a filter that no op fits, an output that cannot be written.
pub fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let choice = choose(&args.device, None)?;
    let device = &choice.device;
    let wanted = |op: &&str| args.only.as_ref().is_none_or(|o| op.contains(o.as_str()));
    let ops: Vec<&'static str> = Op::NAMES.iter().copied().filter(wanted).collect();
    if ops.is_empty() {
        let only = args.only.as_deref().unwrap_or_default();
        return Err(CommandError::Usage(format!(
            "no op has `{only}` in its name; ops are named as in `.ir` files, such as `matmul` or `layer_norm`"
        )));
    }
    let limit = args.max_elements.unwrap_or(match device.kind() {
        DeviceKind::Gpu => GPU_ELEMENTS,
        DeviceKind::CpuDriver => 1 << 14,
        DeviceKind::Interpreter => 1 << 12,
    });
    let targets = targets(device);
    let mut report = Report { device: device.name(), why: choice.why.clone(), ..Report::default() };
    if !args.json {
        say(
            out,
            format_args!("device: {} ({}); values of up to {limit} elements", report.device, report.why),
        )?;
        say(out, format_args!("\n{}", heading("op")))?;
    }
    for op in ops {
        let samples = Op::samples(op);
        let found = on_threads(&samples, |sample| test(device, &targets, limit, sample));
        samples.iter().zip(found).for_each(|(sample, found)| report.take(op, &sample.label, found));
        if let Some(tally) = report.ops.get(op).filter(|_| !args.json) {
            say(out, line(op, tally))?;
        }
    }
    let all = args.only.is_none();
    report.not_run =
        runnable(&targets).into_iter().filter(|k| all && !report.kernels.contains_key(k)).collect();
    if args.json {
        let text = serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))?;
        say(out, text)?;
    } else {
        finish(&report, out)?;
    }
    Ok(report.failed.is_empty())
}

/// What the device is planned for. The interpreter runs the meaning of kernels, so one is enough there.
fn targets(device: &Device) -> Vec<Target> {
    let own = device.target().clone();
    if device.kind() == DeviceKind::Interpreter { vec![own] } else { selections(own) }
}

/// The device itself; as the other kind of device; as a GPU of few compute units, which has large tiles for small
/// products; as one without subgroups; and as a CPU driver without 64-bit integers. Limits stay what they are, so all of them run.
fn selections(own: Target) -> Vec<Target> {
    const FEW_UNITS: u32 = 4;
    let mut other = own.clone();
    other.features.cpu = !own.features.cpu;
    let mut few = own.clone();
    few.features.cpu = false;
    few.tuning.compute_units = FEW_UNITS;
    let mut plain = few.clone();
    plain.features.subgroup_arithmetic = false;
    plain.features.subgroup_shuffle = false;
    let mut words = own.clone();
    words.features.cpu = true;
    words.features.int64 = false;
    vec![own, other, few, plain, words]
}

/// f of every item, in their order, on as many threads as the machine runs: references and pipelines take the processor.
fn on_threads<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let work = || {
        let mut mine = Vec::new();
        while let Some((i, item)) = {
            let i = next.fetch_add(1, Ordering::Relaxed);
            items.get(i).map(|item| (i, item))
        } {
            mine.push((i, f(item)));
        }
        mine
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |t: std::thread::ScopedJoinHandle<'_, _>| {
            t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        running.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, r)| r).collect()
}

/// How a sample ended for one target.
enum Found {
    Trial(Trial),
    TooLarge,
    /// The compiler refuses it on a device without 64-bit integers, with these reasons.
    Refused(Vec<String>),
}

/// Runs a sample for every target that gives it other code.
fn test(device: &Device, targets: &[Target], limit: u64, sample: &Sample) -> Vec<Found> {
    let wrong = |why: String| Found::Trial(Trial { wrong: Some(why), ..Trial::default() });
    let graph = match &sample.graph {
        Ok(graph) => graph,
        Err(why) => return vec![wrong(format!("the sample is no graph: {why}"))],
    };
    let large = largest(graph, sample) > limit;
    if large && (!sample.is_long_axis() || device.kind() == DeviceKind::Interpreter) {
        return vec![Found::TooLarge];
    }
    let reference = match Reference::new(sample, graph) {
        Ok(reference) => reference,
        Err(why) => return vec![wrong(format!("the reference: {why}"))],
    };
    let (mut seen, mut found): (Vec<Vec<String>>, Vec<Found>) = (Vec::new(), Vec::new());
    let targets = if large { &targets[..1] } else { targets };
    for target in targets {
        match plan(graph, target) {
            Err(Error::Compile(CompileError::Unsupported(nodes))) if !target.features.int64 => {
                found.push(Found::Refused(nodes.into_iter().map(|n| n.reason).collect()));
                return found;
            }
            Err(why) => found.push(wrong(why.to_string())),
            Ok(plan) if seen.contains(&code(&plan)) => {}
            Ok(plan) => {
                seen.push(code(&plan));
                found.push(Found::Trial(try_sample(device, plan, sample, graph, &reference)));
            }
        }
    }
    found
}

/// Variants that the device can run, as `kernel.variant`; the built-in advance of scalars is no dispatch, and no op is
/// lowered to `fill` yet.
fn runnable(targets: &[Target]) -> Vec<String> {
    let Some(target) = targets.first() else { return Vec::new() };
    let kernels = pumice_plan::kernels::all().filter(|k| !["frame_advance", "fill"].contains(&k.name));
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
    say(out, format_args!("\n{} passed, {failed} failed, {left_out} left out", cases - failed))?;
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
    use super::super::trial::variant_of;
    use super::*;

    fn args(only: &str) -> Args {
        Args { device: "cpu".into(), only: Some(only.into()), max_elements: Some(64), json: true }
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
        for sample in Op::samples("div") {
            report.take("div", &sample.label, test(&device, std::slice::from_ref(&target), 64, &sample));
        }
        assert_eq!(report.failed, Vec::<String>::new());
        assert!(report.refused.iter().all(|r| r.contains("divides 64-bit integers")), "{:?}", report.refused);
        let div = &report.ops["div"];
        assert!(div.cases > 10 && div.left_out >= report.refused.len() && !report.refused.is_empty());
    }

    /// Every variant that an H200 can run is planned for some sample that `selftest` runs there.
    #[test]
    fn a_gpu_runs_every_variant() {
        let targets = selections(Target::h200());
        let mut missing: std::collections::BTreeSet<String> = runnable(&targets).into_iter().collect();
        for sample in Op::NAMES.iter().flat_map(|op| Op::samples(op)) {
            let Ok(graph) = &sample.graph else { continue };
            if largest(graph, &sample) <= GPU_ELEMENTS {
                let plans = targets.iter().flat_map(|target| plan(graph, target));
                let planned: Vec<String> = plans.flat_map(|p| code(&p)).map(variant_of).collect();
                missing.retain(|k| !planned.contains(k));
            }
            if missing.is_empty() {
                return;
            }
        }
        panic!("no sample is planned with {missing:?}");
    }

    #[test]
    fn a_filter_that_fits_nothing_is_refused() {
        assert!(matches!(run(&args("no such op"), &mut Vec::new()), Err(CommandError::Usage(_))));
    }
}
