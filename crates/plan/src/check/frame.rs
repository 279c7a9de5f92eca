//! The frame: its words, the instructions of its advance program, and the kernel that carries them out. That they give
//! the words which the host would write is for `advance` and `stop`.

use super::error::{Fault, Findings};
use super::{Scope, found, stop};
use crate::frame::{AdvanceKind, AdvanceOp, Frame, FrameSlot};
use crate::kernels::frame::{FrameAdvance, FrameCount};
use crate::plan::Run;
use crate::region::RegionKind;
use crate::step::StepKind;
use std::ops::Range;

/// Checks the frame of a run.
pub(super) fn check(scope: &Scope<'_>, findings: &mut Findings) {
    let Some(run) = scope.run else { return };
    let before = findings.len();
    let needed = 4 * run.frame.len_words();
    if scope.plan.region_size(RegionKind::Frame).0 < needed {
        let why = format!("the frame needs {needed} bytes");
        findings.add(Fault::Region { kind: RegionKind::Frame, why });
    }
    slots(scope, &run.frame, findings);
    instructions(&run.frame, findings);
    stats(run, findings);
    advances(scope, &run.frame, findings);
    if findings.len() == before {
        found::check(scope, run, findings);
        stop::check(scope, run, findings);
    }
}

fn slots(scope: &Scope<'_>, frame: &Frame, findings: &mut Findings) {
    for (i, slot) in frame.words.iter().enumerate() {
        let there = match slot {
            FrameSlot::Bound(id) => scope.plan.symbols.get(*id).is_some(),
            FrameSlot::Scalar(id) => scope.plan.scalars.get(id.0 as usize).is_some(),
            FrameSlot::Expr(_) | FrameSlot::Temporary | FrameSlot::Stopped | FrameSlot::Replays => true,
        };
        if !there {
            findings.add(Fault::Frame(format!("word {i} holds {slot:?}, which the plan does not have")));
        }
    }
}

/// Instructions stay inside the words and never write a bound symbol. The kernel loads both operands of every
/// instruction but the literals: one that is not used is 0, and a word.
fn instructions(frame: &Frame, findings: &mut Findings) {
    let count = frame.words.len();
    // Rows of found words are not the advance's.
    let there = |word: u32| (word as usize) < count && word >= frame.base();
    for (i, op) in frame.advance.iter().enumerate() {
        let operands = match op.op {
            AdvanceKind::Const => op.b == 0,
            AdvanceKind::Copy => there(op.a) && op.b == 0,
            AdvanceKind::Count => op.a == 0 && op.b <= 1,
            AdvanceKind::ClearIf => {
                there(op.a) && op.b.checked_add(op.dst.0).is_some_and(|end| end as usize <= count)
            }
            _ => there(op.a) && there(op.b),
        };
        if !(there(op.dst.0) && operands) {
            findings.add(Fault::Frame(format!("instruction {i} names a word past {count}: {op:?}")));
        } else if cleared_or_written(op).any(|w| matches!(frame.words[w as usize], FrameSlot::Bound(_))) {
            findings
                .add(Fault::Frame(format!("instruction {i} writes the bound symbol in word {}", op.dst.0)));
        }
    }
}

/// The step that advances the frame runs a kernel that knows its instructions, over the whole frame.
fn advances(scope: &Scope<'_>, frame: &Frame, findings: &mut Findings) {
    let counts =
        |op: &AdvanceOp| matches!(op.op, AdvanceKind::Count | AdvanceKind::CopyUnless | AdvanceKind::ClearIf);
    for (id, step) in scope.steps() {
        let StepKind::Advance { call } = &step.kind else { continue };
        let known = match &*call.kernel.0 {
            name if name == FrameCount::DECL.name => true,
            name if name == FrameAdvance::DECL.name => !frame.advance.iter().any(counts),
            _ => false,
        };
        if !known {
            let what = format!("kernel {} does not advance this frame", call.kernel);
            findings.at(id, &step.origin, Fault::Frame(what));
        }
    }
}

/// The words that an instruction may change; they are there.
fn cleared_or_written(op: &AdvanceOp) -> Range<u32> {
    let len = if op.op == AdvanceKind::ClearIf { op.b } else { 1 };
    op.dst.0..op.dst.0 + len
}

fn stats(run: &Run, findings: &mut Findings) {
    let (p, s) = (&run.program, &run.stats);
    let barriers = p.levels.iter().filter(|l| l.barrier.is_some()).count() as u64;
    for (what, stated, counted) in [
        ("steps", u64::from(s.steps), p.steps.len() as u64),
        ("levels", u64::from(s.levels), p.levels.len() as u64),
        ("barriers", u64::from(s.barriers), barriers),
    ] {
        if stated != counted {
            findings.add(Fault::Stats { what, stated, counted });
        }
    }
}
