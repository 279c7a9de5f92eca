//! The frame: its content, its advance program, and that the device's advance gives the words the host would write.

use super::bounds::Corners;
use super::error::{Fault, Findings};
use super::{Scope, stop};
use crate::frame::{AdvanceKind, AdvanceOp, Frame, FrameError, FrameSlot};
use crate::plan::Run;
use crate::region::RegionKind;
use pumice_types::{Bindings, DType, ScalarId};
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
    if findings.len() == before {
        match replays(scope, run) {
            Ok(replays) => {
                values(run, &replays, findings);
                stop::check(scope, run, &replays, findings);
            }
            Err(e) => findings.add(Fault::Frame(e.to_string())),
        }
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

/// Instructions stay inside the words and never write a bound symbol.
fn instructions(frame: &Frame, findings: &mut Findings) {
    let count = frame.words.len();
    let there = |word: u32| (word as usize) < count;
    for (i, op) in frame.advance.iter().enumerate() {
        let (a, b) = match op.op {
            AdvanceKind::Const => (true, true),
            AdvanceKind::Copy => (there(op.a), true),
            // Which words there are to count in, and which are cleared, is for `stop`.
            AdvanceKind::Count => (true, true),
            AdvanceKind::ClearIf => {
                (there(op.a), op.b.checked_add(op.dst.0).is_some_and(|end| end as usize <= count))
            }
            _ => (there(op.a), there(op.b)),
        };
        if !(there(op.dst.0) && a && b) {
            findings.add(Fault::Frame(format!("instruction {i} names a word past {count}: {op:?}")));
        } else if cleared_or_written(op).any(|w| matches!(frame.words[w as usize], FrameSlot::Bound(_))) {
            findings
                .add(Fault::Frame(format!("instruction {i} writes the bound symbol in word {}", op.dst.0)));
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

/// After an advance every word but the device's own holds what the host would write for the next replay.
fn values(run: &Run, replays: &[Replays], findings: &mut Findings) {
    for (words, expected) in replays {
        let mut words = words.clone();
        run.frame.run_advance(&mut words, &[]);
        for (i, slot) in run.frame.words.iter().enumerate() {
            if !slot.is_of_device() && words[i] != expected[i] {
                let what = format!("word {i} advances to {}, the host would write {}", words[i], expected[i]);
                return findings.add(Fault::Frame(what));
            }
        }
    }
}

/// The words of two replays that follow one another, as the host would write them.
pub(super) type Replays = (Vec<u32>, Vec<u32>);

/// At the ends of the ranges and the scalars' defaults, where there is a next replay.
///
/// # Errors
/// A word that has no value there.
fn replays(scope: &Scope<'_>, run: &Run) -> Result<Vec<Replays>, FrameError> {
    let now: Vec<f64> = scope.plan.scalars.iter().map(|s| s.default).collect();
    let mut all = Vec::new();
    for corner in &Corners::of(scope.plan, run).defaults {
        let words = run.frame.evaluate(corner, &bits_of(scope, &now))?;
        let Some((next, bindings)) = advanced(scope, &now, corner) else { continue };
        let Ok(expected) = run.frame.evaluate(&bindings, &bits_of(scope, &next)) else { continue };
        all.push((words, expected));
    }
    Ok(all)
}

/// The words of scalars with these values.
fn bits_of(scope: &Scope<'_>, scalars: &[f64]) -> impl Fn(ScalarId) -> u32 {
    let all: Vec<u32> = scope.plan.scalars.iter().zip(scalars).map(|(s, v)| bits(s.dtype, *v)).collect();
    move |id: ScalarId| all.get(id.0 as usize).copied().unwrap_or(0)
}

fn bits(dtype: DType, value: f64) -> u32 {
    match dtype {
        DType::F32 => (value as f32).to_bits(),
        _ => value as i64 as u32,
    }
}

/// Scalars and bindings of the next replay; `None` where an advance has no value or leaves the scalar's range.
fn advanced(scope: &Scope<'_>, now: &[f64], corner: &Bindings) -> Option<(Vec<f64>, Bindings)> {
    let (mut next, mut bindings) = (now.to_vec(), corner.clone());
    for (i, (slot, value)) in scope.plan.scalars.iter().zip(now).enumerate() {
        let Some(by) = &slot.advance else { continue };
        let after = (*value as i64).checked_add(by.eval(corner).ok()?)?;
        if !(slot.min..=slot.max).contains(&(after as f64)) {
            return None;
        }
        next[i] = after as f64;
        bindings.bind_scalar(ScalarId(i as u32), after);
    }
    Some((next, bindings))
}
