//! Replays that stop: once the stop of a submission was true, a replay changes nothing but its own room.
//!
//! In: a run. Laws, where its frame says that it stops:
//! - the words of the stop are there once, one word of a kernel's is counted up to 1, one instruction clears words;
//! - for either count, an advance tells that the replay counted and that it stopped, takes the scalars on, and clears; a
//!   second one, whatever the count is then, changes no word;
//! - a step that writes what outlives the replay has a grid that is cleared, so that it has no groups then. Host steps are
//!   run by the host, which submits their replays one by one; `status_begin` keeps what is reported.

use super::Scope;
use super::error::{Fault, Findings};
use super::frame::Replays;
use crate::frame::{AdvanceKind, AdvanceOp, Frame, FrameSlot};
use crate::kernels::copy::StatusBegin;
use crate::kernels::frame::FrameCount;
use crate::plan::Run;
use crate::region::RegionKind;
use crate::step::{Access, Grid, Step, StepKind, Storage};
use std::ops::Range;

/// Checks the stop of a run, whose replays have these words.
pub(super) fn check(scope: &Scope<'_>, run: &Run, replays: &[Replays], findings: &mut Findings) {
    let stop = match Stop::of(&run.frame) {
        Ok(None) => return,
        Ok(Some(stop)) => stop,
        Err(why) => return findings.add(Fault::Frame(why.to_owned())),
    };
    if !scope.steps().any(|(_, step)| counts(step)) {
        findings.add(Fault::Frame("no step counts for the stop".to_owned()));
    }
    for (words, next) in replays {
        if let Some(why) = stop.fault(run, words, next) {
            return findings.add(Fault::Frame(why));
        }
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

    /// What is wrong with a replay from these words, after which the host would write the others.
    fn fault(&self, run: &Run, words: &[u32], next: &[u32]) -> Option<String> {
        for count in [0, 1] {
            let mut after = words.to_vec();
            run.frame.run_advance(&mut after, &[count]);
            if (after[self.stopped], after[self.replays]) != (count, 1) {
                let found = (after[self.stopped], after[self.replays]);
                return Some(format!("with a count of {count} stop and replays are {found:?}"));
            }
            for (at, slot) in run.frame.words.iter().enumerate().filter(|(_, slot)| !slot.is_of_device()) {
                let is_cleared = count == 1 && self.cleared.contains(&(at as u32));
                let wanted = if is_cleared { 0 } else { next[at] };
                if after[at] != wanted {
                    return Some(format!("with a count of {count} word {at}, {slot:?}, is {}", after[at]));
                }
            }
            if count == 1 {
                return [0, 1].into_iter().find_map(|count| self.moves(run, &after, count));
            }
        }
        None
    }

    /// A word that a replay after the stop changes.
    fn moves(&self, run: &Run, stopped: &[u32], count: u32) -> Option<String> {
        let mut after = stopped.to_vec();
        run.frame.run_advance(&mut after, &[count]);
        let slots = run.frame.words.iter().enumerate();
        let moved =
            slots.filter(|(_, s)| **s != FrameSlot::Temporary).find(|(at, _)| after[*at] != stopped[*at]);
        moved.map(|(at, slot)| format!("word {at}, {slot:?}, goes on after the stop"))
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
    let at = call.operands.get(1).and_then(|at| step.uses.get(usize::from(at.0)));
    let is_word = at.is_some_and(|u| {
        let whole = u.view.storage == Storage::Arena && u.view.offset.is(0);
        let one = u.view.shape.iter().all(|d| d.is(1)) && u.view.dtype.arena_bytes() == 4;
        u.access == Access::ShaderRead && whole && one && u.span.len.0 >= 4
    });
    call.kernel.0 == FrameCount::DECL.name && is_word
}
