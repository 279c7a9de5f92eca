//! Levels, segments, what may stand in them, and indices that everything else follows.

use super::Scope;
use super::error::{Fault, Findings};
use super::touches::Touches;
use crate::frame::FrameSlot;
use crate::kernel::ArgValue;
use crate::kernels::copy::StatusBegin;
use crate::plan::{Segment, VersionOrigin};
use crate::step::{Step, StepId, StepKind};
use pumice_types::ScalarId;
use std::ops::Range;

/// Checks the structure of a program. `Some` says that indices of levels, steps and versions are in range, and what
/// steps do to each value.
pub(super) fn check(scope: &Scope<'_>, findings: &mut Findings) -> Option<Touches> {
    let before = findings.len();
    levels(scope, findings);
    if findings.len() == before {
        segments(scope, findings);
        outputs_and_states(scope, findings);
        turn_places(scope, findings);
    }
    if findings.len() > before {
        return None;
    }
    let touches = steps(scope, findings);
    status(scope, findings);
    (findings.len() == before).then_some(touches)
}

fn levels(scope: &Scope<'_>, findings: &mut Findings) {
    let program = scope.program;
    let count = program.steps.len() as u32;
    let mut next = 0;
    for (i, level) in program.levels.iter().enumerate() {
        let Range { start, end } = level.steps;
        if start != next || end <= start || end > count {
            let what = format!("level {i} has steps {start}..{end} where {next} comes next of {count}");
            return findings.add(Fault::Structure(what));
        }
        next = end;
    }
    if next != count {
        findings.add(Fault::Structure(format!("{} steps are in no level", count - next)));
    }
}

fn segments(scope: &Scope<'_>, findings: &mut Findings) {
    let count = scope.program.levels.len() as u32;
    let mut next = 0;
    for (i, segment) in scope.program.segments.iter().enumerate() {
        let Range { start, end } = levels_of(segment);
        if start != next || end <= start || end > count {
            let what = format!("segment {i} has levels {start}..{end} where {next} comes next of {count}");
            return findings.add(Fault::Structure(what));
        }
        next = end;
    }
    if next != count {
        findings.add(Fault::Structure(format!("{} levels are in no segment", count - next)));
    }
}

/// After every submission the whole status block is read, whichever of its names the run knows: each replay begins in
/// all of it.
fn status(scope: &Scope<'_>, findings: &mut Findings) {
    let ops = ArgValue::U32(scope.plan.status_ops.len() as u32);
    let begins = |step: &Step| match &step.kind {
        StepKind::Dispatch { call, .. } => call.kernel.0 == StatusBegin::DECL.name && call.args == [ops],
        _ => false,
    };
    if scope.run.is_none() || scope.plan.status_ops.is_empty() || scope.steps().any(|(_, s)| begins(s)) {
        return;
    }
    let count = scope.plan.status_ops.len();
    findings.add(Fault::Structure(format!("no step begins the replay in the status block of {count} ops")));
}

/// The levels of a segment.
pub(super) fn levels_of(segment: &Segment) -> Range<u32> {
    match segment {
        Segment::Gpu { levels } | Segment::Repeat { levels, .. } => levels.clone(),
        Segment::Host { level } => *level..level.saturating_add(1),
    }
}

/// The versions at the end of a run are there.
fn outputs_and_states(scope: &Scope<'_>, findings: &mut Findings) {
    let values = scope.program.values.len();
    let Some(run) = scope.run else { return };
    for (what, ids, slots) in
        [("outputs", &run.outputs, scope.outputs().len()), ("states", &run.states, scope.plan.states.len())]
    {
        if ids.len() != slots || ids.iter().any(|c| c.0 as usize >= values) {
            let what = format!(
                "the versions of its {what} are {ids:?}, there are {slots} {what} and {values} values"
            );
            findings.add(Fault::Structure(what));
        }
    }
}

/// The versions are there whose places have what turns leave, and what loops do.
fn turn_places(scope: &Scope<'_>, findings: &mut Findings) {
    for value in &scope.program.values {
        let (VersionOrigin::Next(first) | VersionOrigin::Left(first)) = value.origin else { continue };
        if scope.program.value(first).is_none() {
            let what = format!("{} is in the place of version {}, which there is not", value.name, first.0);
            findings.add(Fault::Structure(what));
        }
    }
}

/// The versions of all uses are there; host steps have levels of their own; copies and fills stand at the border of a
/// segment; the frame advances at the end.
fn steps(scope: &Scope<'_>, findings: &mut Findings) -> Touches {
    let mut touches = Touches::none(scope.program.values.len());
    let mut advances = false;
    for segment in &scope.program.segments {
        let host_segment = matches!(segment, Segment::Host { .. });
        let levels = levels_of(segment);
        for i in levels.clone() {
            let level = &scope.program.levels[i as usize];
            if host_segment && level.barrier.is_some() {
                findings.add(Fault::Structure(format!("level {i} of host steps has a barrier")));
            }
            let border = i == levels.start || i + 1 == levels.end;
            for (id, step) in scope.program.steps_of(level) {
                versions(scope, (id, step), &mut touches, findings);
                let late = advance_fault(scope, id, step);
                advances |= matches!(step.kind, StepKind::Advance { .. });
                for why in kind_fault(step, host_segment, border).into_iter().chain(late) {
                    findings.at(id, &step.origin, Fault::Structure(why.to_owned()));
                }
            }
            let last = StepId(scope.program.steps.len() as u32);
            if level.reason.is_some_and(|r| r.before >= last || r.after >= last) {
                findings.add(Fault::Structure(format!(
                    "the barrier of level {i} is there for steps there are not"
                )));
            }
        }
    }
    advance(scope, advances, findings);
    touches
}

fn versions(scope: &Scope<'_>, (id, step): (StepId, &Step), touches: &mut Touches, findings: &mut Findings) {
    let values = scope.program.values.len();
    for (i, u) in step.uses.iter().enumerate() {
        if u.content.0 as usize >= values {
            let why = format!("it has version {} of {values}", u.content.0);
            findings.at(id, &step.origin, Fault::Use { index: i, access: u.access, span: u.span, why });
        } else {
            touches.add(id, u);
        }
    }
}

fn kind_fault(step: &Step, host_segment: bool, border: bool) -> Option<&'static str> {
    match &step.kind {
        StepKind::Host if !host_segment => Some("a host step in a GPU segment"),
        StepKind::Host => None,
        _ if host_segment => Some("a device step in a host segment"),
        StepKind::Copy if step.uses.len() != 2 => Some("a copy has two uses"),
        StepKind::Copy if step.uses[0].span.len != step.uses[1].span.len => Some("a copy of unequal sizes"),
        StepKind::Fill(_) if step.uses.len() != 1 => Some("a fill has one use"),
        StepKind::Fill(_) if !step.uses[0].span.len.0.is_multiple_of(4) => Some("a fill of part of a word"),
        StepKind::Copy | StepKind::Fill(_) if !border => Some("a copy or fill inside a segment"),
        _ => None,
    }
}

/// The advance of the frame is the last step of a run.
fn advance_fault(scope: &Scope<'_>, id: StepId, step: &Step) -> Option<&'static str> {
    let is_last = id.0 as usize + 1 == scope.program.steps.len() && scope.run.is_some();
    let advances = matches!(step.kind, StepKind::Advance { .. });
    (advances && !is_last).then_some("the frame advances before the last step of a run")
}

/// The frame advances where a scalar advances or replays can stop.
fn advance(scope: &Scope<'_>, found: bool, findings: &mut Findings) {
    let Some(run) = scope.run else { return };
    let stops = run.frame.find(&FrameSlot::Stopped).is_some();
    let wanted = stops
        || (0u32..).map(ScalarId).take(scope.plan.scalars.len()).any(|id| scope.advance_of(id).is_some());
    if found != wanted || found == run.frame.advance.is_empty() {
        let what = format!(
            "a scalar advances or replays stop: {wanted}; a step advances the frame: {found}; instructions: {}",
            run.frame.advance.len()
        );
        findings.add(Fault::Structure(what));
    }
}
