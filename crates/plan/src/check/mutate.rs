//! Mutants of a plan, to see what the checker catches: the mutation test of every barrier, use, access, order and
//! place. [`judge`](super::judge) says which mutants are wrong.
//!
//! In: a plan. Out: changes, each small, each applied to a copy. For tests alone.

use super::error::ProgramRef;
use crate::plan::{Barrier, Plan, Program, Segment, VersionOrigin};
use crate::region::Span;
use crate::step::{Access, StepId, VersionId};
use pumice_types::Bytes;
use std::fmt;

/// One change to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// In which program.
    pub program: ProgramRef,
    /// What is changed.
    pub change: Change,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The barrier of a level is gone.
    DeleteBarrier {
        /// The level.
        level: u32,
    },
    /// One flag of a barrier is cleared.
    WeakenBarrier {
        /// The level.
        level: u32,
        /// Which flag, in declaration order.
        flag: u8,
    },
    /// The span of a use lies elsewhere.
    MoveUse {
        /// The step.
        step: StepId,
        /// The use.
        index: usize,
        /// Bytes towards the end of the region.
        by: i64,
    },
    /// A value and all its uses lie elsewhere.
    MoveValue {
        /// The value.
        version: VersionId,
        /// Bytes towards the end of the region.
        by: i64,
    },
    /// The span of a use is shorter.
    CutUse {
        /// The step.
        step: StepId,
        /// The use.
        index: usize,
        /// Bytes that are missing.
        by: u64,
    },
    /// A use says that it does something else.
    FlipAccess {
        /// The step.
        step: StepId,
        /// The use.
        index: usize,
        /// What it says.
        to: Access,
    },
    /// A use names another value.
    WrongVersion {
        /// The step.
        step: StepId,
        /// The use.
        index: usize,
        /// The other value.
        to: VersionId,
    },
    /// Two steps stand in each other's place.
    SwapSteps {
        /// One.
        a: StepId,
        /// The other.
        b: StepId,
    },
    /// A value and all its uses lie where another value begins.
    OverlapValues {
        /// The value that is moved.
        moved: VersionId,
        /// The value it is moved to.
        onto: VersionId,
    },
    /// A step runs one level earlier; its level is gone if it was alone there.
    Earlier {
        /// The step.
        step: StepId,
    },
    /// A step is gone; its level too, if it was alone there.
    DropStep {
        /// The step.
        step: StepId,
    },
    /// An output is said to be another value.
    WrongOutput {
        /// The output.
        output: usize,
        /// The other value.
        to: VersionId,
    },
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.program, self.change)
    }
}

/// Every mutation there is of a plan, in a fixed order.
pub fn mutations(plan: &Plan) -> Vec<Mutation> {
    let mut all = of_program(plan, ProgramRef::Load, &plan.load);
    for (i, stream) in (0u32..).zip(&plan.streams) {
        all.extend(of_program(plan, ProgramRef::Stream(i), &stream.program));
    }
    for (i, run) in plan.runs.iter().enumerate() {
        let program = ProgramRef::Run(i as u32);
        all.extend(of_program(plan, program, &run.program));
        for output in 0..run.outputs.len() {
            let others =
                (0..run.program.values.len() as u32).map(VersionId).filter(|c| *c != run.outputs[output]);
            let wrong = others.map(|to| Mutation { program, change: Change::WrongOutput { output, to } });
            all.extend(wrong);
        }
    }
    all
}

fn of_program(plan: &Plan, which: ProgramRef, program: &Program) -> Vec<Mutation> {
    let mut changes = Vec::new();
    barriers(program, &mut changes);
    uses(program, &mut changes);
    order(program, &mut changes);
    places(plan, program, &mut changes);
    changes.into_iter().map(|change| Mutation { program: which, change }).collect()
}

fn barriers(program: &Program, changes: &mut Vec<Change>) {
    for (level, l) in (0u32..).zip(&program.levels) {
        let Some(mut barrier) = l.barrier else { continue };
        changes.push(Change::DeleteBarrier { level });
        let set = flags(&mut barrier).map(|f| *f);
        let set = (0u8..).zip(set).filter(|(_, set)| *set);
        changes.extend(set.map(|(flag, _)| Change::WeakenBarrier { level, flag }));
    }
}

fn flags(b: &mut Barrier) -> [&mut bool; 6] {
    [
        &mut b.from_shader_write,
        &mut b.from_shader_read,
        &mut b.from_transfer,
        &mut b.to_shader,
        &mut b.to_transfer,
        &mut b.to_indirect,
    ]
}

fn uses(program: &Program, changes: &mut Vec<Change>) {
    for (step, s) in (0u32..).map(StepId).zip(&program.steps) {
        for (index, u) in s.uses.iter().enumerate() {
            if u.span.len.0 == 0 {
                continue;
            }
            changes.push(Change::MoveUse { step, index, by: 4 });
            if u.span.offset.0 >= 4 {
                changes.push(Change::MoveUse { step, index, by: -4 });
            }
            changes.push(Change::MoveUse { step, index, by: 256 });
            let word = 4.min(u.span.len.0);
            changes.push(Change::CutUse { step, index, by: word });
            changes.push(Change::CutUse { step, index, by: u.span.len.0 });
            changes.extend(flips(u.access).iter().map(|&to| Change::FlipAccess { step, index, to }));
            let near = [u.content.0.wrapping_sub(1), u.content.0 + 1];
            let near = near.into_iter().filter(|c| (*c as usize) < program.values.len());
            changes.extend(near.map(|c| Change::WrongVersion { step, index, to: VersionId(c) }));
        }
    }
}

fn flips(access: Access) -> &'static [Access] {
    match access {
        Access::ShaderRead => &[Access::ShaderWrite, Access::IndirectRead],
        Access::ShaderWrite => &[Access::ShaderRead, Access::StatusAtomic],
        Access::StatusAtomic => &[Access::ShaderRead, Access::ShaderWrite],
        Access::IndirectRead => &[Access::ShaderRead],
        Access::TransferRead => &[Access::TransferWrite],
        Access::TransferWrite => &[Access::TransferRead],
        Access::HostRead => &[Access::HostWrite],
        Access::HostWrite => &[Access::HostRead],
    }
}

/// Steps of neighbouring levels, and of levels two apart, change places; every step runs earlier, and is dropped.
fn order(program: &Program, changes: &mut Vec<Change>) {
    for (i, level) in program.levels.iter().enumerate() {
        for other in program.levels.iter().skip(i + 1).take(2) {
            for a in level.steps.clone() {
                changes.extend(other.steps.clone().map(|b| Change::SwapSteps { a: StepId(a), b: StepId(b) }));
            }
        }
    }
    // The levels of the host are of one step.
    let together = |level: usize| {
        program.segments.iter().any(|s| match s {
            Segment::Gpu { levels } | Segment::Repeat { levels, .. } => {
                levels.contains(&(level as u32)) && levels.contains(&(level as u32 - 1))
            }
            Segment::Host { .. } => false,
        })
    };
    let later = program.levels.iter().enumerate().skip(1).filter(|(level, _)| together(*level));
    let later = later.flat_map(|(_, level)| level.steps.clone());
    changes.extend(later.map(|step| Change::Earlier { step: StepId(step) }));
    changes.extend((0..program.steps.len() as u32).map(|s| Change::DropStep { step: StepId(s) }));
}

/// Values are moved by a word, and temporary ones onto others that live at the same time.
fn places(plan: &Plan, program: &Program, changes: &mut Vec<Change>) {
    let touched = |c: VersionId| program.steps.iter().flat_map(|s| &s.uses).any(|u| u.content == c);
    let ids = (0..program.values.len() as u32).map(VersionId);
    let ids: Vec<VersionId> =
        ids.filter(|&c| touched(c) && program.value(c).is_some_and(|v| v.span.len.0 > 0)).collect();
    for &version in &ids {
        changes.push(Change::MoveValue { version, by: 4 });
        changes.push(Change::MoveValue { version, by: 256 });
    }
    for &moved in &ids {
        for &onto in ids.iter().filter(|&&o| o != moved) {
            let (Some(a), Some(b)) = (program.value(moved), program.value(onto)) else { continue };
            let temporary = a.origin == VersionOrigin::Step && a.span.region == b.span.region;
            let fits = b.span.offset.0 + a.span.len.0 <= plan.region_size(a.span.region).0;
            if temporary && fits && a.span.offset != b.span.offset {
                changes.push(Change::OverlapValues { moved, onto });
            }
        }
    }
}

/// A program of a plan.
pub(super) fn program_mut(plan: &mut Plan, which: ProgramRef) -> &mut Program {
    match which {
        ProgramRef::Load => &mut plan.load,
        ProgramRef::Stream(i) => &mut plan.streams[i as usize].program,
        ProgramRef::Run(i) => &mut plan.runs[i as usize].program,
    }
}

impl Mutation {
    /// A copy of the plan with the change.
    pub fn apply(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        if let (ProgramRef::Run(i), Change::WrongOutput { output, to }) = (self.program, self.change) {
            plan.runs[i as usize].outputs[output] = to;
            return plan;
        }
        self.change.apply(program_mut(&mut plan, self.program));
        // Figures are not what is tried here.
        for run in &mut plan.runs {
            run.stats.steps = run.program.steps.len() as u32;
            run.stats.levels = run.program.levels.len() as u32;
            run.stats.barriers = run.program.levels.iter().filter(|l| l.barrier.is_some()).count() as u32;
        }
        plan
    }
}

impl Change {
    fn apply(self, program: &mut Program) {
        let value = |program: &Program, c: VersionId| program.values[c.0 as usize].span;
        match self {
            Change::DeleteBarrier { level } => program.levels[level as usize].barrier = None,
            Change::WeakenBarrier { level, flag } => {
                if let Some(barrier) = &mut program.levels[level as usize].barrier {
                    *flags(barrier)[usize::from(flag)] = false;
                }
            }
            Change::MoveUse { step, index, by } => {
                let span = &mut program.steps[step.0 as usize].uses[index].span;
                *span = moved(*span, by);
            }
            Change::CutUse { step, index, by } => {
                let span = &mut program.steps[step.0 as usize].uses[index].span;
                span.len = span.len - Bytes(by);
            }
            Change::FlipAccess { step, index, to } => program.steps[step.0 as usize].uses[index].access = to,
            Change::WrongVersion { step, index, to } => {
                program.steps[step.0 as usize].uses[index].content = to
            }
            Change::MoveValue { version, by } => {
                let to = moved(value(program, version), by);
                relocate(program, version, to);
            }
            Change::OverlapValues { moved, onto } => {
                let to = Span { offset: value(program, onto).offset, ..value(program, moved) };
                relocate(program, moved, to);
            }
            Change::SwapSteps { a, b } => program.steps.swap(a.0 as usize, b.0 as usize),
            Change::Earlier { step } => move_earlier(program, step.0),
            Change::DropStep { step } => drop_step(program, step.0),
            // Changes the run, not its program.
            Change::WrongOutput { .. } => {}
        }
    }
}

fn moved(span: Span, by: i64) -> Span {
    Span { offset: Bytes(span.offset.0.saturating_add_signed(by)), ..span }
}

/// Puts a value and everything that touches it somewhere else.
fn relocate(program: &mut Program, version: VersionId, to: Span) {
    let from = program.values[version.0 as usize].span;
    program.values[version.0 as usize].span = to;
    for u in program.steps.iter_mut().flat_map(|s| &mut s.uses).filter(|u| u.content == version) {
        u.span.offset = Bytes(u.span.offset.0 - from.offset.0 + to.offset.0);
    }
}

fn drop_step(program: &mut Program, step: u32) {
    program.steps.remove(step as usize);
    for level in &mut program.levels {
        level.reason = None;
        level.steps.start -= u32::from(level.steps.start > step);
        level.steps.end -= u32::from(level.steps.end > step);
    }
    drop_empty_level(program);
}

fn move_earlier(program: &mut Program, step: u32) {
    let Some(at) = program.levels.iter().position(|l| l.steps.contains(&step)).filter(|at| *at > 0) else {
        return;
    };
    // The first of its level becomes the last of the level before.
    let first = program.levels[at].steps.start;
    program.steps.swap(first as usize, step as usize);
    program.levels[at - 1].steps.end += 1;
    program.levels[at].steps.start += 1;
    program.levels.iter_mut().for_each(|level| level.reason = None);
    drop_empty_level(program);
}

fn drop_empty_level(program: &mut Program) {
    let Some(empty) = program.levels.iter().position(|l| l.steps.is_empty()) else { return };
    program.levels.remove(empty);
    let empty = empty as u32;
    for segment in &mut program.segments {
        match segment {
            Segment::Gpu { levels } | Segment::Repeat { levels, .. } => {
                levels.start -= u32::from(levels.start > empty);
                levels.end -= u32::from(levels.end > empty);
            }
            Segment::Host { level } if *level > empty => *level -= 1,
            // The host level itself is gone.
            Segment::Host { level } if *level == empty => *level = u32::MAX,
            Segment::Host { .. } => {}
        }
    }
    program.segments.retain(|s| match s {
        Segment::Gpu { levels } | Segment::Repeat { levels, .. } => levels.start < levels.end,
        Segment::Host { level } => *level != u32::MAX,
    });
    debug_assert!(program.levels.iter().all(|l| !l.steps.is_empty()));
}
