//! Measures the speed lines and prints them, losses like wins: a table with floor, reference and ratio, and one line of
//! JSON per case. `docs/measuring.md` says how figures are taken.
//!
//! In: arguments alone, so that the program can be carried to another machine. Out: figures. A case whose numbers are
//! wrong is not timed; a case that fails makes the exit code 1. Never here: a figure without its device and date.

mod backward;
mod backward_kinds;
mod chain;
mod choices;
mod clock;
mod codes;
mod convolutions;
mod cpu_driver;
mod data;
mod encoder;
mod experts;
mod forward;
mod found;
mod ordered;
mod pairs;
mod pin;
mod pools;
mod products;
mod recurrences;
mod reference;
mod report;
mod resnet;
mod rig;
mod row;
mod selected;
mod shapes;
mod start;
mod streams;
mod training;
mod training_host;

use clap::Parser;
use pumice::Graph;
use reference::References;
use report::Report;
use rig::Rig;
use row::{Outcome, Row};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measures pumice's speed lines on one device.
#[derive(Clone, Debug, Parser)]
#[command(name = "bench")]
pub struct Args {
    /// Write one JSON object per case to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only cases whose name contains one of these, separated by commas: `S1`, `gemm,minilm`
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    only: Vec<String>,
    /// PyTorch's figures of the same session, written by tests/reference/torch_bench.py
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// A folder with all-MiniLM-L6-v2; without it seeded weights in the same shape
    #[arg(long, value_name = "FOLDER")]
    model: Option<PathBuf>,
    /// Part of the device's name; without it the best device
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// A selection table to compile with; without it the device's own
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// What products do with their factors: exact, f16
    #[arg(long, value_name = "PRECISION", default_value = "exact")]
    precision: pumice_types::Precision,
    /// Instead of the cases those of this file, which tests/reference/fresh_shapes.py writes
    #[arg(long, value_name = "FILE")]
    fresh: Option<PathBuf>,
    /// The sizes of a release build, although this is none: times of devices do not depend on it
    #[arg(long)]
    full: bool,
    /// Small sizes and short samples, to see that everything runs; no bar is judged
    #[arg(long)]
    quick: bool,
    /// Print which kernels the graphs of S1, F8 and G15 get in full size, and measure nothing: on the device, or where
    /// TARGET is given (h200, lavapipe) on a device that need not be there
    #[arg(long, value_name = "TARGET", num_args = 0..=1, default_missing_value = "")]
    choices: Option<String>,
    /// Also print the time of every kernel of the encoder
    #[arg(long)]
    profile: bool,
    /// A program that prints what another compiler needs for the S3 cases; see docs/measuring.md
    #[arg(long, value_name = "PROGRAM")]
    rlx: Option<PathBuf>,
    /// Written into the JSON lines
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// Do not restart on two CPUs where the device is a CPU driver
    #[arg(long)]
    unpinned: bool,
    /// Open the model, embed one sentence, say so, and leave: the child of the S4 case
    #[arg(long, hide = true)]
    first_embedding: bool,
    /// Open the device with this cache folder, in which the figures of a GPU without a profile are measured
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
}

/// Measures a case.
type Measure = dyn Fn(&Rig) -> Outcome<Vec<Row>>;

/// Makes the graph of a case.
type MakeGraph = dyn Fn() -> Outcome<Spelled>;

/// A graph, and whether passes fuse it.
pub struct Spelled {
    graph: Graph,
    fused: bool,
}

/// A case: its name, and how its rows are measured. Rows may add to the name.
pub struct Case {
    name: String,
    /// None where there is more to it than one graph.
    graph: Option<Box<MakeGraph>>,
    run: Box<Measure>,
}

impl Case {
    fn new(name: impl Into<String>, run: impl Fn(&Rig) -> Outcome<Vec<Row>> + 'static) -> Case {
        Case { name: name.into(), graph: None, run: Box::new(run) }
    }

    /// The same with its graph, which is that of the one row.
    fn spelled(self, graph: impl Fn() -> Outcome<Spelled> + 'static) -> Case {
        Case { graph: Some(Box::new(graph)), ..self }
    }

    fn is_wanted(&self, only: &[String]) -> bool {
        only.is_empty()
            || only.iter().any(|text| self.name.contains(text.as_str()) || text.starts_with(&self.name))
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every case could be measured.
fn run(args: &Args) -> Outcome<bool> {
    if args.first_embedding {
        return start::embed_once(args).map(|()| true);
    }
    if let Some(target) = &args.choices {
        return choices::print(args, target).map(|()| true);
    }
    if let Some(json) = &args.json {
        let reads: Vec<&Path> =
            [&args.reference, &args.table].into_iter().flatten().map(PathBuf::as_path).collect();
        pumice::apart::check(json, &reads)?;
    }
    let rig = Rig::open(args)?;
    if rig.is_cpu_driver()
        && !args.unpinned
        && let Some(ended_well) = pin::restart_on_two_cpus()?
    {
        return Ok(ended_well);
    }
    rig.announce();
    let references = References::read(args.reference.as_deref(), &rig.snapshot().name)?;
    let mut report = Report::new(&rig, args)?;
    let cases = cases(&rig, args.fresh.as_deref())?;
    let wanted: Vec<&Case> = cases.iter().filter(|case| case.is_wanted(&args.only)).collect();
    if wanted.is_empty() {
        let known: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        return Err(format!("no case has such a name; there are {}", known.join(", ")).into());
    }
    let first = wanted.iter().find(|case| case.name.starts_with("S1")).filter(|_| wanted.len() > 1);
    for case in &wanted {
        report.take(&case.name, (case.run)(&rig), &references, "")?;
    }
    // The clock check: a card that ran slower or faster meanwhile shows here.
    if let Some(case) = first {
        report.take(&case.name, (case.run)(&rig), &references, ".again")?;
    }
    report.finish()
}

/// The cases that are one graph each: S1, F8, P6 and P8, in full size or small.
fn of_kernels(full: bool) -> Outcome<Vec<Case>> {
    let mut cases = products::cases(full);
    cases.extend(streams::cases(full));
    cases.extend(chain::cases(full));
    cases.extend(shapes::cases(full)?);
    cases.extend(codes::cases(full));
    cases.extend(experts::cases(full));
    cases.extend(recurrences::cases(full));
    Ok(cases)
}

/// Shapes that nobody tuned for, as `tests/reference/fresh_shapes.py` draws them.
#[derive(Deserialize)]
struct Fresh {
    #[serde(default)]
    convolutions: Vec<convolutions::Drawn>,
    #[serde(flatten)]
    shapes: shapes::Lists,
}

impl Fresh {
    fn cases(file: &Path) -> Outcome<Vec<Case>> {
        let fresh: Fresh = serde_json::from_slice(&std::fs::read(file)?)?;
        let mut cases = convolutions::of(fresh.convolutions);
        cases.extend(shapes::of(fresh.shapes));
        Ok(cases)
    }
}

fn cases(rig: &Rig, fresh: Option<&Path>) -> Outcome<Vec<Case>> {
    if let Some(file) = fresh {
        return Fresh::cases(file);
    }
    let mut cases = of_kernels(rig.judges_gpu())?;
    cases.extend(found::cases(rig.judges_gpu()));
    cases.extend(selected::cases(rig.judges_gpu()));
    cases.extend(convolutions::cases(rig)?);
    cases.extend(pools::cases(rig));
    cases.extend(resnet::cases(rig));
    cases.extend(encoder::cases());
    cases.extend(training::cases(rig.judges_gpu()));
    cases.extend(backward::cases(rig.judges_gpu())?);
    if rig.is_cpu_driver() {
        cases.extend(cpu_driver::cases());
    }
    cases.extend(start::cases());
    Ok(cases)
}
