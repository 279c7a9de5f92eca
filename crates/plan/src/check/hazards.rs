//! Order: every two accesses to one byte of which one writes are cut by a barrier whose flags cover both, or by the
//! border of a segment. Two replays are cut by the seam barrier that every segment begins with.
//!
//! Only the last accesses to a byte are looked at: its last write, and after it the last read of every kind and the
//! last status atomic. What cuts those cuts all before them: of two reads of one kind, every barrier after the later
//! is after the earlier; and if A and B are cut and B and C are cut, A and C are, because the second barrier waits for
//! what the first one held back.

use super::error::{Fault, Findings};
use super::intervals::ByteMap;
use super::structure::levels_of;
use super::{ProgramReport, Scope};
use crate::kernel::{OperandAccess, UseIndex};
use crate::kernels::find;
use crate::plan::{Barrier, Hazard, HazardKind, Program, Segment, VersionOrigin};
use crate::step::{Access, Step, StepId, StepKind, Use};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::ops::Range;

/// One access to some bytes.
#[derive(Clone, Copy, Debug)]
struct Touch {
    step: StepId,
    level: u32,
    access: Access,
}

/// The last accesses to some bytes.
#[derive(Clone, Debug, Default)]
struct Trace {
    write: Option<Touch>,
    /// Since that write, by [`From`].
    reads: [Option<Touch>; 4],
    /// Since that write.
    atomic: Option<Touch>,
    /// Accesses that a later one took the place of and that no run makes beside it: they are in the other branch of a
    /// choice.
    apart: Vec<Touch>,
}

impl Trace {
    /// From now on `touch` is the last access of its kind; `parted` says whether an earlier one is in another branch.
    fn note(&mut self, touch: Touch, parted: &dyn Fn(&Touch) -> bool) {
        let replaced = match touch.access {
            Access::StatusAtomic => self.atomic.replace(touch),
            a if !a.writes() => self.reads[from(a) as usize].replace(touch),
            _ => {
                let before = std::mem::take(self);
                let all = before.reads.into_iter().chain([before.atomic, before.write]).flatten();
                self.apart = all.chain(before.apart).filter(parted).collect();
                self.write = Some(touch);
                None
            }
        };
        self.apart.extend(replaced.filter(parted));
    }

    fn all(&self) -> impl Iterator<Item = &Touch> {
        self.reads.iter().chain([&self.atomic, &self.write]).flatten().chain(&self.apart)
    }
}

/// What a barrier tells apart before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    ShaderWrite,
    ShaderRead,
    Transfer,
    Host,
}

/// What a barrier tells apart after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Shader,
    Indirect,
    Transfer,
    Host,
}

/// The barriers passed so far in a segment.
#[derive(Default)]
struct Cuts {
    /// The levels of the segment.
    segment: Range<u32>,
    /// Levels with a barrier before them, ascending.
    barriers: Vec<(u32, Barrier)>,
}

/// The order of the accesses so far.
pub(super) struct Hazards<'p> {
    program: &'p Program,
    memory: ByteMap<Trace>,
    segments: std::slice::Iter<'p, Segment>,
    cuts: Cuts,
    /// The level that the last step was in.
    level: Option<u32>,
    /// Levels whose barrier something needs.
    needed: BTreeSet<u32>,
    pairs: u64,
}

impl<'p> Hazards<'p> {
    /// Before the first step of a program.
    pub fn new(scope: &Scope<'p>) -> Hazards<'p> {
        let (program, memory) = (scope.program, ByteMap::new());
        let (segments, cuts) = (program.segments.iter(), Cuts::default());
        Hazards { program, memory, segments, cuts, level: None, needed: BTreeSet::new(), pairs: 0 }
    }

    /// Checks the next step, which is in this level.
    pub fn check(
        &mut self,
        scope: &Scope<'_>,
        level: u32,
        (id, step): (StepId, &Step),
        findings: &mut Findings,
    ) {
        self.enter(level);
        within(scope, id, step, findings);
        for u in &step.uses {
            let touch = Touch { step: id, level, access: u.access };
            for (before, hazard) in pairs(&mut self.memory, u, touch) {
                self.pairs += 1;
                // Of two branches of one choice one runs: where both write one value none waits for the other.
                if excludes(self.program, before.step, step) {
                    continue;
                }
                judge(&self.cuts, (before, touch), hazard, step, &mut self.needed, findings);
            }
        }
        note(&mut self.memory, self.program, (id, level), step);
    }

    /// Passes the barrier before a level, or the border of a segment.
    fn enter(&mut self, level: u32) {
        if self.level.replace(level) == Some(level) {
            return;
        }
        while level >= self.cuts.segment.end
            && let Some(next) = self.segments.next()
        {
            self.cuts = Cuts { segment: levels_of(next), barriers: Vec::new() };
        }
        let barrier = self.program.levels[level as usize].barrier;
        self.cuts.barriers.extend(barrier.map(|b| (level, b)));
    }

    /// Counts pairs, and barriers that nothing needs.
    pub fn count(&self, figures: &mut ProgramReport) {
        figures.pairs += self.pairs;
        figures.redundant_barriers = figures.barriers - self.needed.len() as u32;
    }
}

/// Conflicts of a use with what was there before, one per earlier step.
fn pairs(memory: &mut ByteMap<Trace>, u: &Use, touch: Touch) -> SmallVec<[(Touch, Hazard); 2]> {
    let mut found: SmallVec<[(Touch, Hazard); 2]> = SmallVec::new();
    memory.visit(u.span, |span, trace| {
        for before in trace.all().filter(|b| b.access.conflicts(touch.access)) {
            if found.iter().all(|(f, _)| f.step != before.step || f.access != before.access) {
                let kind = match (before.access.writes(), touch.access.writes()) {
                    (true, true) => HazardKind::Waw,
                    (true, false) => HazardKind::Raw,
                    _ => HazardKind::War,
                };
                found.push((*before, Hazard { kind, before: before.step, after: touch.step, span }));
            }
        }
    });
    found
}

/// From now on the step's uses are the last accesses to their bytes.
fn note(memory: &mut ByteMap<Trace>, program: &Program, (id, level): (StepId, u32), step: &Step) {
    let parted = |before: &Touch| excludes(program, before.step, step);
    for u in Scope::uses(step, false).chain(Scope::uses(step, true)).map(|(_, u)| u) {
        let touch = Touch { step: id, level, access: u.access };
        memory.visit(u.span, |_, trace| trace.note(touch, &parted));
    }
}

/// Whether a step and an earlier one never run both: they are in the two branches of a choice.
fn excludes(program: &Program, before: StepId, step: &Step) -> bool {
    !step.when.is_always() && program.steps[before.0 as usize].when.excludes(&step.when)
}

fn judge(
    cuts: &Cuts,
    (before, after): (Touch, Touch),
    hazard: Hazard,
    step: &Step,
    needed: &mut BTreeSet<u32>,
    findings: &mut Findings,
) {
    if before.level < cuts.segment.start {
        return; // The border of a segment, or the seam.
    }
    let between = cuts.barriers.iter().rev().take_while(|(level, _)| *level > before.level);
    let mut covering = between.filter(|(_, b)| covers(b, before.access, after.access));
    match (covering.next(), covering.next()) {
        (Some((only, _)), None) => {
            needed.insert(*only);
        }
        (Some(_), Some(_)) => {}
        (None, _) if before.level == after.level => {
            findings.at(after.step, &step.origin, Fault::SameLevel(hazard))
        }
        (None, _) => findings.at(after.step, &step.origin, Fault::Hazard(hazard)),
    }
}

/// Whether the flags of a barrier cover both accesses.
fn covers(b: &Barrier, before: Access, after: Access) -> bool {
    let from = match from(before) {
        From::ShaderWrite => b.from_shader_write,
        // Waiting for kernels is enough: nothing has to be made visible.
        From::ShaderRead => b.from_shader_read || b.from_shader_write,
        From::Transfer => b.from_transfer,
        From::Host => false,
    };
    from && match to(after) {
        To::Shader => b.to_shader,
        To::Indirect => b.to_indirect,
        To::Transfer => b.to_transfer,
        To::Host => false,
    }
}

fn from(access: Access) -> From {
    match access {
        Access::ShaderWrite | Access::StatusAtomic => From::ShaderWrite,
        // A grid is read before its kernel runs.
        Access::ShaderRead | Access::IndirectRead => From::ShaderRead,
        Access::TransferRead | Access::TransferWrite => From::Transfer,
        Access::HostRead | Access::HostWrite => From::Host,
    }
}

fn to(access: Access) -> To {
    match access {
        Access::ShaderRead | Access::ShaderWrite | Access::StatusAtomic => To::Shader,
        Access::IndirectRead => To::Indirect,
        Access::TransferRead | Access::TransferWrite => To::Transfer,
        Access::HostRead | Access::HostWrite => To::Host,
    }
}

/// Uses of one step that share bytes: a state, and what nobody reads later, may be written where it is read and as it
/// is read, nothing else.
fn within(scope: &Scope<'_>, id: StepId, step: &Step, findings: &mut Findings) {
    for (a, w) in Scope::uses(step, true) {
        for (b, other) in
            step.uses.iter().enumerate().filter(|(b, o)| *b != a && (!o.access.writes() || *b > a))
        {
            let shares = w.access.conflicts(other.access) && w.span.overlaps(&other.span);
            if shares && !(may_alias(step, a, b) && in_place(scope, w, other)) {
                findings.at(id, &step.origin, Fault::SelfOverlap { a, b, span: other.span });
            }
        }
    }
}

/// Whether a step may write one use where it reads another: its kernel's declaration says that no invocation reads what
/// another one writes, nor after it wrote; a host step reads everything before it writes.
fn may_alias(step: &Step, write: usize, read: usize) -> bool {
    let call = match &step.kind {
        StepKind::Dispatch { call, .. } => call,
        StepKind::Host | StepKind::Advance { .. } => return true,
        StepKind::Copy | StepKind::Fill(_) => return false,
    };
    let Some(decl) = find(&call.kernel.0) else { return false };
    let is_in = |bound: &[UseIndex], at: usize| bound.iter().any(|u| usize::from(u.0) == at);
    let is_operand = |access: OperandAccess| {
        let mut operands = decl.operands.iter().zip(&call.operands);
        operands.any(|(o, u)| o.access == access && usize::from(u.0) == write)
    };
    let stored = is_in(&call.slots, write) || is_operand(OperandAccess::Write);
    // What is read in a slot may be read as an operand as well, where other invocations need it.
    let own_slot = is_in(&call.slots, read) && !is_in(&call.operands, read);
    let own_slots = decl.slots_in_place && stored && own_slot;
    // The reading use of such an operand is the meaning's alone.
    let elsewhere = is_in(&call.operands, read) || is_in(&call.slots, read);
    let mut operands = decl.operands.iter().zip(&call.operands);
    let first = operands.any(|(o, u)| o.first && usize::from(u.0) == read) && !is_in(&call.slots, read);
    own_slots || stored && first || is_operand(OperandAccess::ReadWrite) && !elsewhere
}

fn in_place(scope: &Scope<'_>, write: &Use, read: &Use) -> bool {
    let origin = |u: &Use| scope.program.value(u.content).map(|v| v.origin);
    use VersionOrigin as O;
    let state = |u: &Use| scope.program.state_of(origin(u)?);
    let same = match (origin(write), origin(read)) {
        // What a turn leaves over what it began with.
        (Some(O::Next(first)), Some(O::Carried)) => first == read.content,
        (Some(O::StateAfter(_) | O::Next(_)), Some(_)) => {
            state(write).is_some() && state(write) == state(read)
        }
        // What nobody reads any more, which `versions` looks at.
        (Some(O::Step), Some(O::Step)) => {
            let whole = |u: &Use| scope.program.value(u.content).is_some_and(|v| v.span == u.span);
            whole(write) && whole(read)
        }
        _ => false,
    };
    same && !read.access.writes() && write.span == read.span && write.view == read.view
}
