//! Replays that stop: once the stop of a submission was true, a replay changes nothing but its own scratch.
//!
//! In: a run. Laws, where its frame says that it stops:
//! - the words of the stop are there once, one word of a kernel's is counted up to 1, one instruction clears words;
//! - for either count, an advance tells that the replay counted and that it stopped, takes the scalars on, and clears;
//!   a second one, whatever the count is then, changes no word; cleared words are grids and no arguments;
//! - a step that writes what outlives the replay has a grid that is cleared, so that it has no groups then. Host steps
//!   are run by the host, which submits their replays one by one; `status_begin` keeps what is reported.

use super::Scope;
use super::advance::{self, Case, Followed, Held, same, shown};
use super::error::{Fault, Findings};
use super::found::{is_count, operand};
use crate::frame::{AdvanceKind, AdvanceOp, Frame, FrameSlot};
use crate::kernel::ArgValue;
use crate::kernels::copy::StatusBegin;
use crate::kernels::frame::FrameCount;
use crate::plan::Run;
use crate::region::RegionKind;
use crate::step::{Grid, Step, StepKind};
use pumice_types::DimExpr;
use std::ops::Range;

/// The stop was true before or not, and the replay counts or not.
const CASES: [Case; 4] = [
    Case { stopped: false, count: 0 },
    Case { stopped: false, count: 1 },
    Case { stopped: true, count: 0 },
    Case { stopped: true, count: 1 },
];

/// Checks the advance of a run, with its stop where it has one.
pub(super) fn check(scope: &Scope<'_>, run: &Run, findings: &mut Findings) {
    let stop = match Stop::of(&run.frame) {
        Ok(None) => return advance::check(scope, run, findings),
        Ok(Some(stop)) => stop,
        Err(why) => return findings.add(Fault::Frame(why.to_owned())),
    };
    if !scope.steps().any(|(_, step)| counts(step)) {
        findings.add(Fault::Frame("no step counts for the stop".to_owned()));
    }
    if let Err(why) = stop.follow(&Followed::new(scope, run, stop.cleared.clone())) {
        findings.add(Fault::Frame(why));
    }
    if let Some(word) = stop.cleared_argument(scope) {
        findings.add(Fault::Frame(format!("the stop clears word {word}, which is an argument of a kernel")));
    }
    for (id, step) in scope.steps() {
        if outlives(step) && !stop.clears_grid(step) {
            let what = "it writes after a stop what outlives the replay".to_owned();
            findings.at(id, &step.origin, Fault::Structure(what));
        }
    }
}

/// Where a frame keeps its stop.
struct Stop {
    stopped: usize,
    replays: usize,
    cleared: Range<u32>,
}

impl Stop {
    /// Of a frame; none where nothing stops.
    fn of(frame: &Frame) -> Result<Option<Stop>, &'static str> {
        let places = |slot: FrameSlot| -> Vec<usize> {
            frame.words.iter().enumerate().filter(|(_, w)| **w == slot).map(|(at, _)| at).collect()
        };
        let ops = |kind: AdvanceKind| -> Vec<AdvanceOp> {
            frame.advance.iter().copied().filter(|op| op.op == kind).collect()
        };
        let (counts, clears) = (ops(AdvanceKind::Count), ops(AdvanceKind::ClearIf));
        let keeps = !ops(AdvanceKind::CopyUnless).is_empty();
        match (&*places(FrameSlot::Stopped), &*places(FrameSlot::Replays), &*counts, &*clears) {
            ([], [], [], []) if !keeps => Ok(None),
            (&[stopped], &[replays], [count], [clear]) if (count.a, count.b) == (0, 1) => {
                // `frame` has checked that the words are there.
                let cleared = clear.dst.0..clear.dst.0.saturating_add(clear.b);
                Ok(Some(Stop { stopped, replays, cleared }))
            }
            _ => Err("a stop is two words, one count up to 1 and one instruction that clears"),
        }
    }

    /// An advance tells that the replay counted and whether it stopped; after the stop it changes no word.
    fn follow(&self, followed: &Followed<'_>) -> Result<(), String> {
        for case in CASES {
            let after = followed.goes_on(case)?;
            let (stopped, replays) = (&after[self.stopped], &after[self.replays]);
            let is_stopped = Held::Is(DimExpr::constant(i64::from(case.stopped || case.count > 0)));
            let counted = followed.replays() + u64::from(!case.stopped);
            if !same(stopped, &is_stopped) || !same(replays, &Held::Is(counted)) {
                let (stopped, replays) = (shown(stopped), shown(replays));
                return Err(format!("stop and replays become {stopped} and {replays} ({case:?})"));
            }
        }
        Ok(())
    }

    /// A cleared word that is more than a part of grids: what it is to kernels whose grids are not cleared is not
    /// looked at.
    fn cleared_argument(&self, scope: &Scope<'_>) -> Option<u32> {
        let calls = scope.program.steps.iter().filter_map(|step| match &step.kind {
            StepKind::Dispatch { call, .. } | StepKind::Advance { call } => Some(call),
            StepKind::Host | StepKind::Copy | StepKind::Fill(_) => None,
        });
        let words = calls.flat_map(|call| &call.args).filter_map(|arg| match arg {
            ArgValue::Frame(word) => Some(*word),
            ArgValue::U32(_) => None,
        });
        words.into_iter().find(|word| self.cleared.contains(word))
    }

    fn clears_grid(&self, step: &Step) -> bool {
        match &step.kind {
            StepKind::Dispatch { grid: Grid::Frame { word, .. }, .. } => {
                (word.0..word.0.saturating_add(3)).any(|w| self.cleared.contains(&w))
            }
            StepKind::Host | StepKind::Advance { .. } => true,
            StepKind::Dispatch { call, .. } => call.kernel.0 == StatusBegin::DECL.name,
            StepKind::Copy | StepKind::Fill(_) => false,
        }
    }
}

/// Whether a step writes anything but scratch.
fn outlives(step: &Step) -> bool {
    step.uses.iter().any(|u| u.access.writes() && u.span.region != RegionKind::Scratch)
}

/// Whether a step advances the frame by a count: one word, which the kernel reads as its second operand.
fn counts(step: &Step) -> bool {
    let StepKind::Advance { call } = &step.kind else { return false };
    call.kernel.0 == FrameCount::DECL.name && operand(step, call, 1).is_some_and(is_count)
}
