//! A measured case, and the bar it is held against. Plain data.

use crate::clock::Times;
use pumice::{Executable, Plan};
use pumice_plan::hist::Histogram;
use pumice_plan::{Step, StepKind};
use pumice_shaders::Form;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::error::Error;

/// What every step of a measurement returns.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What the speed lines demand of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Bar {
    /// Nothing; the figure is for information.
    None,
    /// A rate, in the unit of the row's rate.
    Rate(f64),
    /// A time in microseconds that must not be passed.
    Us(f64),
    /// Reference time over pumice's time.
    Ratio(f64),
    /// The same of what passes so many microseconds.
    RatioBeyond(f64, f64),
    /// A share of another case's rate in the same run.
    ShareOf(String, f64),
    /// So many microseconds more than another case of the same run.
    After(String, f64),
    /// So many times the time of another case of the same run.
    TimesOf(String, f64),
}

/// What a time is turned into for people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Nothing: the time itself counts.
    None,
    /// Operations of one unit of work.
    Tflops(f64),
    /// Bytes read plus bytes written by one unit of work.
    Tbps(f64),
}

impl Rate {
    /// Value and unit at a time in microseconds.
    pub fn at(self, us: f64) -> Option<(f64, &'static str)> {
        match self {
            Rate::None => None,
            Rate::Tflops(operations) => Some((operations / us / 1e6, "TFLOPS")),
            Rate::Tbps(bytes) => Some((bytes / us / 1e6, "TB/s")),
        }
    }
}

/// What the plan says of the run that was timed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Levels of the whole run.
    pub levels: u32,
    /// Steps of the whole run that the device does.
    pub dispatches: usize,
    /// Bytes read plus bytes written.
    pub bytes: u64,
    /// Operations of matrix products.
    pub flops: u64,
    /// The floor in microseconds.
    pub floor_us: f64,
    /// The most frequent kernels: label and number of steps.
    pub kernels: Vec<(String, u64)>,
    /// SHA-256 of the checked-in module of every kernel of the run, by `kernel.variant`: the templates whose holes are
    /// filled, as `shaders/spv/manifest.json` lists them.
    pub modules: BTreeMap<String, String>,
}

impl Figures {
    /// Of one run of an executable's plan.
    pub fn of(exe: &Executable, run: usize) -> Figures {
        Figures::of_plan(exe.plan(), run)
    }

    fn of_plan(plan: &Plan, run: usize) -> Figures {
        let run = &plan.runs[run];
        let steps = || run.program.steps.iter().filter(|s| !s.is_host());
        let symbols = run.symbols_of(&plan.symbols);
        let histogram = Histogram::of(String::new(), &run.program, &symbols);
        let works = || steps().map(|s| s.cost.upper(&symbols));
        Figures {
            levels: run.stats.levels,
            dispatches: steps().count(),
            bytes: works().map(|work| work.bytes.0).sum(),
            flops: works().map(|work| work.flops).sum(),
            floor_us: run.stats.floor.total_us,
            kernels: histogram.kernels.into_iter().take(6).map(|k| (k.label, k.steps)).collect(),
            modules: steps().filter_map(module).collect(),
        }
    }
}

/// The module that a step runs: `kernel.variant` and its hash; none where no kernel runs. The device is never opened
/// for descriptors here.
fn module(step: &Step) -> Option<(String, String)> {
    let (StepKind::Dispatch { call, .. } | StepKind::Advance { call }) = &step.kind else { return None };
    let entry = pumice_shaders::find(&call.kernel.0, &call.variant, Form::Address)?;
    let hash: String = Sha256::digest(entry.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Some((format!("{}.{}", call.kernel, call.variant), hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_ir::{GraphBuilder, f32};

    #[test]
    fn modules_have_the_hashes_of_the_manifest() {
        let g = GraphBuilder::new("g");
        g.output("y", g.exp(g.input("x", f32([300u64]))));
        let graph = g.build().expect("a graph");
        let target = pumice_types::Target::h200();
        let plan = pumice::plan(&graph, &target, &pumice::Options::default()).expect("a plan");
        let modules = Figures::of_plan(&plan, 0).modules;
        assert_eq!(modules.keys().collect::<Vec<_>>(), ["elementwise_flat.plain"]);
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../shaders/spv/manifest.json");
        let manifest = std::fs::read_to_string(manifest).expect("the manifest");
        let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
        let listed =
            &manifest["kernels"]["elementwise_flat"]["modules"]["elementwise_flat.plain.address.spv"];
        assert_eq!(listed, &modules["elementwise_flat.plain"]);
    }
}

/// Another program's time for the same work.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Microseconds for one unit of work.
    pub us: f64,
    /// Whose, taken how and when.
    pub from: String,
}

/// A measured case.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `S1.gemm_4096`.
    pub case: String,
    /// Times of one unit of work, in microseconds.
    pub times: Times,
    /// Whose clock it was: `device` or `host`.
    pub clock: &'static str,
    /// Units of work in one run: equal ops one after the other.
    pub per: u32,
    /// What a unit of work is in a rate.
    pub rate: Rate,
    /// What the plan says of the run; none where no plan was run.
    pub figures: Option<Figures>,
    /// The other program's time, if it was measured beside this one.
    pub reference: Option<Reference>,
    /// The demand.
    pub bar: Bar,
    /// Whether the demand is for this device and these sizes.
    pub judged: bool,
    /// How the numbers were checked before they were timed.
    pub checked: String,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl Row {
    /// A row with a time and nothing else.
    pub fn new(case: impl Into<String>, times: Times, clock: &'static str) -> Row {
        Row {
            case: case.into(),
            times,
            clock,
            per: 1,
            rate: Rate::None,
            figures: None,
            reference: None,
            bar: Bar::None,
            judged: false,
            checked: String::new(),
            notes: Vec::new(),
        }
    }

    /// Reference time over pumice's.
    pub fn ratio(&self) -> Option<f64> {
        self.reference.as_ref().map(|r| r.us / self.times.median)
    }
}
