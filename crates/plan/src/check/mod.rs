//! The plan checker: recomputes from the finished plan alone that it is right, and shares no code with the planner.
//!
//! In: a [`Plan`]. Out: figures, or every fault with its step. The load program is followed first, then every stream
//! alone with its own scratch, then every run, each twice in a row, because a recording may be replayed directly after
//! itself:
//! - symbolic versions per byte range: every read finds the value it expects in every byte of its span, and no step
//!   has yet to write to that value; inputs, params and frame persist, a state at the end of one replay is the state
//!   at the beginning of the next;
//! - every RAW, WAR and WAW pair is cut by a barrier whose flags cover both accesses, by a segment border or by the
//!   seam barrier that every GPU segment begins with; status atomics commute with themselves;
//! - a value that several steps write is filled by them, each element once;
//! - steps read, and outputs have, bytes that were written: elements of values, slots to their ends;
//! - every span lies in its region, in one chunk and in its value's slot; views stay inside their spans at the ends of
//!   the symbols' ranges; kernels, grids and frame words are what declarations and target allow;
//! - a row of found words is filled by one step, whose program gives each word its value whatever is found; the host
//!   learns what it takes part in from one word of each found symbol, before it asks;
//! - after a stop no step writes what outlives its replay, and no scalar goes on;
//! - no kernel's loops iterate more often than the target lets them;
//! - of the steps that stand in branches, those of a branch not taken do nothing, and what both branches write is read
//!   behind both;
//! - turns of a loop find whether there is one, and behind the last nothing of a turn has an effect;
//! - a run touches the inputs and outputs of its own entry alone, and advances the scalars that the entry says;
//! - bytes of a streamed param are read by its own stream and nowhere else.
//!
//! What a plan says by convention: the versions of a state are numbered upwards; a version that no step writes is the
//! one before it. Versions of the load program and of the runs meet by their spans.
//!
//! Never here: anything of the planner, an op, a device.

mod advance;
mod bindings;
mod bounds;
mod coverage;
mod entries;
mod error;
mod expressions;
mod footprint;
mod found;
mod frame;
mod hazards;
mod interface;
mod intervals;
mod joined;
pub mod judge;
pub mod mutate;
mod numbers;
mod ranges;
mod refusal;
mod scalars;
mod search;
mod step;
mod stop;
mod streams;
mod structure;
mod touches;
mod trip_count;
mod turns;
mod versions;
mod when;
pub mod words;
mod written;

pub(crate) use bindings::BindingLaws;
pub use bindings::REMEMBERED;
pub use error::{CheckError, Fault, ProgramRef};
pub use refusal::{Allowance, BindingError, MOST_EVALUATIONS};
pub(crate) use trip_count::Loops;

use crate::needs::Needs;
use crate::plan::{IoSlot, Plan, Program, Run};
use crate::region::{Region, RegionKind, Span};
use crate::step::{Step, StepId, Use, VersionId};
use crate::stream::Stream;
use bounds::Corners;
use coverage::Coverage;
use error::Findings;
use footprint::{Alike, Samples};
use hazards::Hazards;
use pumice_types::{DimExpr, ScalarId};
use std::collections::BTreeSet;
use versions::Versions;
use written::Written;

/// What was counted while a plan was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Of the load program.
    pub load: ProgramReport,
    /// Of each stream.
    pub streams: Vec<ProgramReport>,
    /// Of each run.
    pub runs: Vec<ProgramReport>,
}

/// Figures of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramReport {
    /// Steps.
    pub steps: u32,
    /// Levels.
    pub levels: u32,
    /// Barriers, seam barriers not counted.
    pub barriers: u32,
    /// Barriers without which every pair would still be cut. An elided plan has none.
    pub redundant_barriers: u32,
    /// Conflicting pairs of neighbouring accesses to the same bytes that had to be cut.
    pub pairs: u64,
}

impl ProgramReport {
    /// Counts what a program says of itself.
    fn count(&mut self, program: &Program) {
        self.steps = program.steps.len() as u32;
        self.levels = program.levels.len() as u32;
        self.barriers = program.levels.iter().filter(|l| l.barrier.is_some()).count() as u32;
    }
}

impl CheckReport {
    /// Redundant barriers of all programs together.
    pub fn redundant_barriers(&self) -> u32 {
        let others = self.streams.iter().chain(&self.runs);
        self.load.redundant_barriers + others.map(|r| r.redundant_barriers).sum::<u32>()
    }
}

/// Checks a plan. `Err` holds every fault found (at most a thousand).
///
/// ```
/// # use pumice_plan::{Plan, check};
/// # use pumice_types::Target;
/// # let plan = Plan::empty("empty", Target::lavapipe());
/// let faults = check::check(&plan).expect_err("no run covers the bindings");
/// assert!(faults.iter().any(|f| f.to_string().contains("ranges")));
/// ```
pub fn check(plan: &Plan) -> Result<CheckReport, Vec<CheckError>> {
    check_with_needs(plan).map(|(report, _)| report)
}

/// As [`check`]; says what the plan needs of a device as well.
pub(crate) fn check_with_needs(plan: &Plan) -> Result<(CheckReport, Needs), Vec<CheckError>> {
    let mut needs = Needs::of_regions(plan);
    let mut findings = Findings::default();
    expressions::check(plan, &mut findings);
    if findings.len() > 0 {
        return Err(findings.into_list());
    }
    scalars::check(plan, &mut findings);
    interface::check(plan, &mut findings);
    entries::check(plan, &mut findings);
    ranges::check(plan, &mut findings);
    streams::check(plan, &mut findings);
    let report = programs(plan, &mut findings, &mut needs);
    if findings.len() == 0 { Ok((report, needs)) } else { Err(findings.into_list()) }
}

/// Checks the load program, streams, and runs, which have what those before them derive.
fn programs(plan: &Plan, findings: &mut Findings, needs: &mut Needs) -> CheckReport {
    let mut report = CheckReport::default();
    findings.begin(Some(ProgramRef::Load));
    let none = BTreeSet::new();
    let left = check_program(&Scope::load(plan), &none, findings, (&mut report.load, needs));
    let mut derived: BTreeSet<Span> = left.into_iter().collect();
    for (i, stream) in plan.streams.iter().enumerate() {
        findings.begin(Some(ProgramRef::Stream(i as u32)));
        let mut figures = ProgramReport::default();
        let scope = Scope::of_stream(plan, stream);
        derived.extend(check_program(&scope, &none, findings, (&mut figures, needs)));
        report.streams.push(figures);
    }
    for (i, run) in plan.runs.iter().enumerate() {
        findings.begin(Some(ProgramRef::Run(i as u32)));
        let mut figures = ProgramReport::default();
        check_program(&Scope::of_run(plan, run), &derived, findings, (&mut figures, needs));
        report.runs.push(figures);
    }
    report
}

/// A program with what belongs to it.
#[derive(Clone, Copy)]
pub(in crate::check) struct Scope<'p> {
    plan: &'p Plan,
    program: &'p Program,
    /// `None` for the load program and streams.
    run: Option<&'p Run>,
    /// The stream whose program it is.
    stream: Option<&'p Stream>,
}

impl<'p> Scope<'p> {
    fn load(plan: &'p Plan) -> Scope<'p> {
        Scope { plan, program: &plan.load, run: None, stream: None }
    }

    fn of_stream(plan: &'p Plan, stream: &'p Stream) -> Scope<'p> {
        Scope { plan, program: &stream.program, run: None, stream: Some(stream) }
    }

    fn of_run(plan: &'p Plan, run: &'p Run) -> Scope<'p> {
        Scope { plan, program: &run.program, run: Some(run), stream: None }
    }

    /// The outputs that the program leaves.
    fn outputs(&self) -> &'p [IoSlot] {
        self.run.map_or(&[], |run| self.plan.outputs_of_run(run))
    }

    /// What is added to a scalar at the end of every replay, where it advances.
    fn advance_of(&self, scalar: ScalarId) -> Option<&'p DimExpr> {
        self.plan.advance_of(self.run?, scalar)
    }

    /// A region as the program sees it: a stream has scratch of its own.
    fn region(&self, kind: RegionKind) -> Option<&'p Region> {
        match self.stream {
            Some(stream) if kind == RegionKind::Scratch => Some(&stream.room),
            _ => self.plan.region(kind),
        }
    }

    /// All steps with their ids.
    fn steps(&self) -> impl Iterator<Item = (StepId, &'p Step)> {
        (0u32..).map(StepId).zip(&self.program.steps)
    }

    /// All steps with their levels.
    fn by_level(&self) -> impl Iterator<Item = (u32, (StepId, &'p Step))> {
        let program = self.program;
        let levels = (0u32..).zip(&program.levels);
        levels.flat_map(|(i, level)| program.steps_of(level).map(move |step| (i, step)))
    }

    /// The uses of a step that read, or those that write, with their indices. Status atomics do both.
    fn uses(step: &'p Step, writes: bool) -> impl Iterator<Item = (usize, &'p Use)> {
        step.uses.iter().enumerate().filter(move |(_, u)| u.access.writes() == writes)
    }

    /// The name of a version, for faults.
    fn name(&self, id: VersionId) -> String {
        match self.program.value(id) {
            Some(v) => format!("{} ({})", v.name, id.0),
            None => format!("version {}", id.0),
        }
    }
}

/// Checks one program. Returns the spans of derived weights that it leaves intact.
///
/// All that is asked of a step alone, or after those before it, is asked in one pass: large plans are larger than
/// caches. With a pass for each law 40,000 steps took 0.17 s instead of 0.10 (two cores, 2026-11-23).
fn check_program<'p>(
    scope: &Scope<'p>,
    derived: &BTreeSet<Span>,
    findings: &mut Findings,
    (figures, needs): (&mut ProgramReport, &mut Needs),
) -> Vec<Span> {
    figures.count(scope.program);
    // Without it indices cannot be trusted; everything below follows them.
    let Some(touches) = structure::check(scope, findings) else { return Vec::new() };
    interface::check_values(scope, &touches, findings);
    frame::check(scope, findings);
    turns::check(scope, findings);
    let corners = Corners::of_program(scope);
    let (samples, mut sound) = (Samples::of(scope, &corners), Alike::default());
    let loops = Loops::of(*scope);
    let (mut coverage, mut hazards) = (Coverage::new(scope), Hazards::new(scope));
    let written = Written::of(scope);
    let mut versions = Versions::new(scope, touches, derived, findings);
    for (level, step) in scope.by_level() {
        if let Some(decl) = step::check(scope, level, step, findings) {
            samples.check(scope, (decl, &mut sound), step, findings);
            needs.add(step.1, |call| trip_count::check(&loops, (decl, call), step, findings));
        }
        streams::check_uses(scope, step, findings);
        bounds::check(scope, &corners, step, findings);
        when::check(scope, &corners.symbols, step, findings);
        coverage.add(scope, step.1);
        written.check(scope, &corners, step, findings);
        hazards.check(scope, level, step, findings);
        versions.follow(scope, step, findings);
    }
    coverage.check(scope, &corners, findings);
    written.check_derived(scope, findings);
    written.check_outputs(scope, &corners, findings);
    hazards.count(figures);
    versions.finish(scope, findings)
}
