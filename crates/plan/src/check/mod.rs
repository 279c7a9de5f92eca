//! The plan checker: recomputes from the finished plan alone that it is right, and shares no code with the planner.
//!
//! In: a [`Plan`]. Out: figures, or every fault with its step. The load program is followed first, then every stream
//! alone with its own scratch, then every run, each twice in a row, because a recording may be replayed directly after itself:
//! - symbolic contents per byte range: every read finds the value it expects in every byte of its span, and no step
//!   has yet to write to that value; inputs, params and frame persist, a state at the end of one replay is the state
//!   at the beginning of the next;
//! - every RAW, WAR and WAW pair is cut by a barrier whose flags cover both accesses, by a segment border or by the
//!   seam barrier that every GPU segment begins with; status atomics commute with themselves;
//! - a value that several steps write is filled by them, each element once;
//! - every span lies in its region, in one chunk and in its value's slot; views stay inside their spans at the ends of
//!   the symbols' ranges; kernels, grids and frame words are what declarations and target allow;
//! - after a stop no step writes what outlives its replay, and no scalar goes on;
//! - no kernel's loops turn more often than the target lets them;
//! - bytes of a streamed param are read by its own stream and nowhere else.
//!
//! What a plan says by convention: the versions of a state are numbered upwards; a version that no step writes is the
//! one before it. Contents of the load program and of the runs meet by their spans.
//!
//! Never here: anything of the planner, an op, a device.

mod bounds;
mod contents;
mod coverage;
mod error;
mod frame;
mod hazards;
mod interface;
mod intervals;
mod joined;
pub mod judge;
pub mod mutate;
mod ranges;
mod reach;
mod step;
mod stop;
mod streams;
mod structure;
mod turns;
pub mod words;

pub use error::{CheckError, Fault, ProgramRef};
pub use reach::LARGEST_INDEX;
pub(crate) use turns::most_turns;

use crate::plan::{Plan, Program, Run};
use crate::region::{Region, RegionKind, Span};
use crate::step::{ContentId, Step, StepId, Use};
use crate::stream::Stream;
use error::Findings;

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
    let mut findings = Findings::default();
    interface::check(plan, &mut findings);
    ranges::check(plan, &mut findings);
    let mut report = CheckReport::default();
    streams::check(plan, &mut findings);
    findings.begin(Some(ProgramRef::Load));
    let mut derived = check_program(&Scope::load(plan), &[], &mut findings, &mut report.load);
    for (i, stream) in plan.streams.iter().enumerate() {
        findings.begin(Some(ProgramRef::Stream(i as u32)));
        let mut figures = ProgramReport::default();
        derived.extend(check_program(&Scope::of_stream(plan, stream), &[], &mut findings, &mut figures));
        report.streams.push(figures);
    }
    for (i, run) in plan.runs.iter().enumerate() {
        findings.begin(Some(ProgramRef::Run(i as u32)));
        let mut figures = ProgramReport::default();
        check_program(&Scope::of_run(plan, run), &derived, &mut findings, &mut figures);
        report.runs.push(figures);
    }
    if findings.len() == 0 { Ok(report) } else { Err(findings.into_list()) }
}

/// A program with what belongs to it.
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

    /// The uses of a step that read, or those that write, with their indices. Status atomics do both.
    fn uses(step: &'p Step, writes: bool) -> impl Iterator<Item = (usize, &'p Use)> {
        step.uses.iter().enumerate().filter(move |(_, u)| u.access.writes() == writes)
    }

    /// The name of a content, for faults.
    fn name(&self, id: ContentId) -> String {
        match self.program.value(id) {
            Some(v) => format!("{} ({})", v.name, id.0),
            None => format!("content {}", id.0),
        }
    }
}

/// Checks one program. Returns the spans of derived weights that it leaves intact.
fn check_program(
    scope: &Scope<'_>,
    derived: &[Span],
    findings: &mut Findings,
    figures: &mut ProgramReport,
) -> Vec<Span> {
    figures.steps = scope.program.steps.len() as u32;
    figures.levels = scope.program.levels.len() as u32;
    figures.barriers = scope.program.levels.iter().filter(|l| l.barrier.is_some()).count() as u32;
    let before = findings.len();
    structure::check(scope, findings);
    if findings.len() > before {
        // Indices cannot be trusted; everything below follows them.
        return Vec::new();
    }
    interface::check_values(scope, findings);
    for (id, step) in scope.steps() {
        step::check(scope, id, step, findings);
    }
    streams::check_uses(scope, findings);
    turns::check(scope, findings);
    frame::check(scope, findings);
    let corners = bounds::check(scope, findings);
    reach::check(scope, &corners, findings);
    hazards::check(scope, findings, figures);
    contents::check(scope, derived, findings)
}
