//! Where the bytes of a plan go: regions, runs, and for every param whether it stays and who reads it.
//!
//! Made from the checked plan alone: what a step reads and writes is written on it.

use super::file::Planned;
use crate::error::Error;
use pumice_compile::Options;
use pumice_plan::{
    ParamSlot, Plan, PlanValue, Program, RegionKind, Residence, Step, StepKind, VersionId, VersionOrigin,
};
use pumice_types::{DimExpr, Target};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A memory plan.
#[derive(Debug, Serialize)]
pub(super) struct MemoryPlan {
    pub target: String,
    /// Tokens of context, for a language model.
    pub context: Option<u64>,
    pub regions: Vec<Region>,
    /// Bytes that all sessions share: weights.
    pub shared_bytes: u64,
    /// Bytes of each session.
    pub per_session_bytes: u64,
    /// Most scratch of its own that a streamed param needs, while it is set.
    pub stream_bytes: u64,
    pub runs: Vec<RunRow>,
    pub params: Vec<ParamRow>,
    pub derived: Vec<DerivedRow>,
    pub states: Vec<StateRow>,
}

#[derive(Debug, Serialize)]
pub(super) struct Region {
    pub name: &'static str,
    pub bytes: u64,
    pub allocations: usize,
    pub holds: String,
}

/// The plan for one range of the symbols.
#[derive(Debug, Serialize)]
pub(super) struct RunRow {
    /// Symbol, smallest and largest value.
    pub ranges: Vec<(String, u64, u64)>,
    pub steps: u32,
    pub levels: u32,
    pub scratch_bytes: u64,
    /// What no placement can do without.
    pub scratch_lower_bound_bytes: u64,
}

/// A stored param.
#[derive(Debug, Serialize)]
pub(super) struct ParamRow {
    pub name: String,
    pub encoding: String,
    pub shape: Vec<u64>,
    pub bytes: u64,
    /// Whether its bytes stay on the device.
    pub residence: &'static str,
    /// Params that it lies side by side with.
    pub joined: Vec<String>,
    pub why: String,
}

/// Bytes that the load program makes of params and constants.
#[derive(Debug, Serialize)]
pub(super) struct DerivedRow {
    pub name: String,
    pub encoding: String,
    pub shape: Vec<u64>,
    pub bytes: u64,
    /// The kernel that makes it.
    pub by: String,
    /// What it is made of.
    pub from: Vec<String>,
    /// Why it is a copy, where it might have been none.
    pub why: String,
}

#[derive(Debug, Serialize)]
pub(super) struct StateRow {
    pub name: String,
    pub encoding: String,
    pub shape: Vec<u64>,
    pub bytes: u64,
}

/// Plans a graph for a target.
///
/// # Errors
/// Those of compiling.
pub(super) fn of(planned: &Planned, target: &Target) -> Result<MemoryPlan, Error> {
    let options = Options::default().specializations(planned.cuts.clone());
    let plan = crate::plan(&planned.graph, target, &options)?;
    let readers = Readers::of(&plan);
    let regions: Vec<Region> = RegionKind::ALL.into_iter().map(|kind| region(&plan, kind)).collect();
    let bytes_of = |weights: bool| {
        regions.iter().filter(|r| (r.name == RegionKind::Weights.name()) == weights).map(|r| r.bytes).sum()
    };
    Ok(MemoryPlan {
        target: plan.target.name.clone(),
        context: planned.context,
        shared_bytes: bytes_of(true),
        per_session_bytes: bytes_of(false),
        regions,
        runs: plan.runs.iter().map(|run| run_row(&plan, run)).collect(),
        params: (0..plan.params.len() as u32).map(|i| param_row(&plan, i, &readers)).collect(),
        derived: plan.load_programs().flat_map(derived).collect(),
        stream_bytes: plan.streams.iter().map(|s| s.room.size().0).max().unwrap_or(0),
        states: plan.states.iter().map(state_row).collect(),
    })
}

fn region(plan: &Plan, kind: RegionKind) -> Region {
    let holds = match kind {
        RegionKind::Weights => weights(plan),
        RegionKind::States => count(plan.states.len(), "state"),
        RegionKind::Scratch => "intermediate values of the largest run".to_owned(),
        RegionKind::IoIn => count(plan.inputs.len(), "input"),
        RegionKind::IoOut => count(plan.outputs.len(), "output"),
        RegionKind::Frame => "what varies from run to run".to_owned(),
        RegionKind::Status => "what kernels report".to_owned(),
    };
    let allocations = plan.region(kind).map_or(0, |r| r.chunks.len());
    Region { name: kind.name(), bytes: plan.region_size(kind).0, allocations, holds }
}

/// What the region of weights holds.
fn weights(plan: &Plan) -> String {
    let values = plan.load_programs().flat_map(|p| &p.values);
    let derived = values.filter(|v| v.origin == VersionOrigin::Derived).count();
    let kept = plan.params.iter().filter(|p| p.residence() == Residence::Kept).count();
    let all = [(kept, "param"), (plan.constants.len(), "constant"), (derived, "derived weight")];
    let some = all.into_iter().filter(|(n, _)| *n > 0);
    some.map(|(n, what)| count(n, what)).collect::<Vec<_>>().join(", ")
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn run_row(plan: &Plan, run: &pumice_plan::Run) -> RunRow {
    let names = plan.symbols.iter().map(|(_, s)| s.name.clone());
    RunRow {
        ranges: names.zip(&run.ranges).map(|(name, &(low, high))| (name, low, high)).collect(),
        steps: run.stats.steps,
        levels: run.stats.levels,
        scratch_bytes: run.stats.scratch.0,
        scratch_lower_bound_bytes: run.stats.scratch_lower_bound.0,
    }
}

fn param_row(plan: &Plan, index: u32, readers: &Readers) -> ParamRow {
    let param = &plan.params[index as usize];
    let joined = readers.joined.get(&index).map(|&set| &plan.joined[set]);
    let joined = joined.map_or(&[][..], |j| &j.params).iter().filter(|&&i| i != index);
    let joined: Vec<String> = joined.map(|&i| plan.params[i as usize].name.clone()).collect();
    ParamRow {
        name: param.name.clone(),
        encoding: param.encoding.to_string(),
        shape: param.shape.clone(),
        bytes: param.span.len.0,
        residence: param.residence().name(),
        why: why(param, index, joined.len(), readers),
        joined,
    }
}

/// Who reads a param, and where that alone does not say it, why its bytes stay or do not.
fn why(param: &ParamSlot, index: u32, joined: usize, readers: &Readers) -> String {
    let list = |kernels: &BTreeSet<String>| kernels.iter().cloned().collect::<Vec<_>>().join(", ");
    let (runs, load) = (readers.runs.get(&index), readers.load.get(&index));
    let mut all = Vec::new();
    if let Some(runs) = runs {
        let with =
            if joined > 0 { format!(" as one with {}", count(joined, "other")) } else { String::new() };
        all.push(format!("read as stored by {}{with}", list(runs)));
    }
    if let Some(load) = load {
        all.push(format!("derived from it by {}", list(load)));
    }
    if readers.begins.contains(&index) {
        all.push("a state begins as it".to_owned());
    }
    if runs.is_none() && param.residence() == Residence::Kept && !readers.begins.contains(&index) {
        all.extend(why_kept(param, load.is_some(), readers.meets.contains(&index)).map(str::to_owned));
    }
    all.join("; ")
}

/// Why the bytes of a param stay that no run reads, where its kernels alone do not say it.
fn why_kept(param: &ParamSlot, derived: bool, with_others: bool) -> Option<&'static str> {
    let small = param.span.len.0 < Options::default().stream_from;
    match (derived, with_others) {
        (false, _) => Some("nothing reads it"),
        (true, true) => Some("kept because others are in what is derived from it"),
        (true, false) => small.then_some("kept because it is small"),
    }
}

fn state_row(state: &pumice_plan::StateSlot) -> StateRow {
    StateRow {
        name: state.name.clone(),
        encoding: state.dtype.to_string(),
        shape: state.shape.clone(),
        bytes: state.span.len.0,
    }
}

/// Which kernels read each param.
struct Readers {
    runs: BTreeMap<u32, BTreeSet<String>>,
    load: BTreeMap<u32, BTreeSet<String>>,
    /// Params that a state begins as.
    begins: BTreeSet<u32>,
    /// Params of which a step of the load program reads another one, too, or writes a value that a step of another
    /// writes.
    meets: BTreeSet<u32>,
    /// For params that lie side by side with others, the index of their set in the plan.
    joined: BTreeMap<u32, usize>,
}

impl Readers {
    fn of(plan: &Plan) -> Readers {
        let (mut runs, mut load) = (BTreeMap::new(), BTreeMap::new());
        plan.runs.iter().for_each(|run| readers(plan, &run.program, &mut runs));
        plan.load_programs().for_each(|program| readers(plan, program, &mut load));
        let begins = plan.states.iter().filter_map(|s| match s.init {
            pumice_plan::StateInit::Param(p) => Some(p),
            _ => None,
        });
        let sets = plan.joined.iter().enumerate();
        let joined = sets.flat_map(|(set, j)| j.params.iter().map(move |&param| (param, set)));
        let (begins, joined) = (begins.collect(), joined.collect());
        Readers { runs, load, begins, meets: meeting(&plan.load), joined }
    }
}

/// Params that others meet in what the load program derives.
fn meeting(load: &Program) -> BTreeSet<u32> {
    // Of each value, the params that are in it.
    let mut in_value: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (i, value) in (0..).zip(&load.values) {
        if let VersionOrigin::Param(p) = value.origin {
            in_value.insert(i, [p].into());
        }
    }
    for step in &load.steps {
        let uses =
            |writes| step.uses.iter().filter(move |u| u.access.writes() == writes).map(|u| u.content.0);
        let read: BTreeSet<u32> = uses(false).filter_map(|c| in_value.get(&c)).flatten().copied().collect();
        uses(true).for_each(|c| in_value.entry(c).or_default().extend(&read));
    }
    in_value.into_values().filter(|params| params.len() > 1).flatten().collect()
}

fn readers(plan: &Plan, program: &Program, found: &mut BTreeMap<u32, BTreeSet<String>>) {
    for step in &program.steps {
        for value in values(program, step, false) {
            let params = match value.origin {
                VersionOrigin::Param(param) => vec![param],
                VersionOrigin::Joined(set) => plan.joined[set as usize].params.clone(),
                _ => Vec::new(),
            };
            params.into_iter().for_each(|p| {
                found.entry(p).or_default().insert(kernel(step));
            });
        }
    }
}

/// What a step reads, or writes.
fn values<'p>(program: &'p Program, step: &'p Step, writes: bool) -> impl Iterator<Item = &'p PlanValue> {
    let uses = step.uses.iter().filter(move |u| u.access.writes() == writes);
    uses.filter_map(|u| program.value(u.content))
}

/// The kernel's name without variant and holes.
fn kernel(step: &Step) -> String {
    match &step.kind {
        StepKind::Dispatch { call, .. } => call.kernel.0.to_string(),
        _ => step.label(),
    }
}

fn derived(load: &Program) -> Vec<DerivedRow> {
    let mut all: BTreeMap<VersionId, Made<'_>> = BTreeMap::new();
    for step in &load.steps {
        for used in step.uses.iter().filter(|u| u.access.writes()) {
            all.entry(used.content).or_default().add(load, step);
        }
    }
    all.iter().filter_map(|(id, made)| made.row(load, *id)).collect()
}

/// Kernels that write a value, what they read, and why they copy.
#[derive(Default)]
struct Made<'p> {
    by: BTreeSet<String>,
    from: BTreeSet<&'p str>,
    why: BTreeSet<&'p str>,
}

impl<'p> Made<'p> {
    /// Notes a step that writes the value.
    fn add(&mut self, load: &'p Program, step: &'p Step) {
        self.by.insert(kernel(step));
        let sources = values(load, step, false);
        let named = sources.filter(|v| !matches!(v.origin, VersionOrigin::Frame | VersionOrigin::Status));
        self.from.extend(named.map(|v| &*v.name));
        self.why.extend(Some(step.reason.as_str()).filter(|r| !r.is_empty()));
    }

    /// The row of a derived weight; nothing for other values.
    fn row(&self, load: &Program, id: VersionId) -> Option<DerivedRow> {
        let value = load.value(id).filter(|v| v.origin == VersionOrigin::Derived)?;
        Some(DerivedRow {
            name: value.name.to_string(),
            encoding: value.encoding.to_string(),
            shape: value.shape.iter().filter_map(DimExpr::as_extent).collect(),
            bytes: value.span.len.0,
            by: self.by.iter().cloned().collect::<Vec<_>>().join(", "),
            from: self.from.iter().map(|name| (*name).to_owned()).collect(),
            why: self.why.iter().copied().collect::<Vec<_>>().join("; "),
        })
    }
}
