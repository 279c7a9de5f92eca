//! Results over operands that nobody reads later: two buffers of the arena, one place.
//!
//! In: a schedule. Out: pairs of buffers. The step that writes the second is the last to touch the first, and reads it
//! as it writes: the same bytes under the same view, where the kernel's declaration allows it: in a slot of which an
//! invocation reads the elements that it alone stores, before it stores any, or as an operand that is read `first`.
//! Programs with loops keep theirs apart, and so do steps of branches.

use crate::order::Levels;
use crate::unplaced::{BufferId, StorageClass, UnplacedProgram, UnplacedStep, UnplacedUse};
use pumice_plan::StepKind;
use pumice_plan::kernel::{OperandAccess, UseIndex};
use pumice_plan::kernels::find;
use pumice_types::When;
use std::collections::{BTreeMap, BTreeSet};

/// Who touches the buffers of the arena, and when.
struct Touches<'u> {
    unplaced: &'u UnplacedProgram,
    /// By step.
    level: Vec<u32>,
    /// By buffer of the arena, its steps.
    of: Vec<Vec<u32>>,
}

/// Buffers (the first of a pair) that lie where others (the second) come to lie: each in one pair at most on each side.
pub fn pairs(unplaced: &UnplacedProgram, levels: &Levels) -> Vec<(BufferId, BufferId)> {
    let touches = Touches::of(unplaced, levels);
    let mut pairs = Vec::new();
    let [mut taken, mut given] = [(); 2].map(|()| vec![false; unplaced.buffers.len()]);
    for (number, step) in (0u32..).zip(&unplaced.steps) {
        for (write, read) in candidates(unplaced, step) {
            let [from, to] = [read, write].map(|at| touches.buffer(&step.uses[at]));
            let free = !taken[from.0 as usize] && !given[to.0 as usize];
            if free && touches.is_last(number, from) && touches.is_first(number, to) {
                (taken[from.0 as usize], given[to.0 as usize]) = (true, true);
                pairs.push((from, to));
            }
        }
    }
    pairs
}

/// Steps that would be such, were it not for others that read the same at the same level: by step, those others, which
/// come first if that is worth a level. Only buffers of so many bytes.
pub fn worth_waiting(unplaced: &UnplacedProgram, levels: &Levels, bytes: u64) -> BTreeMap<u32, Vec<u32>> {
    let touches = Touches::of(unplaced, levels);
    let (mut waits, mut awaited) = (BTreeMap::<u32, Vec<u32>>::new(), BTreeSet::<u32>::new());
    for (number, step) in (0u32..).zip(&unplaced.steps) {
        for (write, read) in candidates(unplaced, step) {
            let [from, to] = [read, write].map(|at| touches.buffer(&step.uses[at]));
            let is_large = unplaced.buffers[from.0 as usize].bytes >= bytes;
            let beside = touches.beside(number, from).filter(|_| is_large && touches.is_first(number, to));
            let Some(beside) = beside else { continue };
            // Of steps that could wait for each other, the first one does.
            if !awaited.contains(&number) && beside.iter().all(|s| !waits.contains_key(s)) {
                awaited.extend(&beside);
                waits.entry(number).or_default().extend(beside);
            }
        }
    }
    waits
}

/// The uses of a step of which one may be written where the other is read.
fn candidates(unplaced: &UnplacedProgram, step: &UnplacedStep) -> Vec<(usize, usize)> {
    if !unplaced.loops.is_empty() || step.when != When::ALWAYS {
        return Vec::new();
    }
    let buffer = |u: &UnplacedUse| unplaced.versions[u.version.0 as usize].buffer;
    let uses = || step.uses.iter().enumerate().filter(|(_, u)| is_whole(unplaced, u));
    let mut found = Vec::new();
    for (a, write) in uses().filter(|(_, u)| u.access.writes()) {
        let alike = |read: &UnplacedUse| {
            let bytes = [read, write].map(|u| unplaced.buffers[buffer(u).0 as usize].bytes);
            buffer(write) != buffer(read) && bytes[0] == bytes[1] && write.view == read.view
        };
        let once = |read: &UnplacedUse| step.uses.iter().filter(|u| buffer(u) == buffer(read)).count() == 1;
        let reads = uses().filter(|(_, u)| !u.access.writes() && alike(u) && once(u));
        found.extend(reads.filter(|(b, _)| own_elements(&step.kind, a, *b)).map(|(b, _)| (a, b)));
    }
    found
}

/// Whether a use is all of a buffer of the arena that has bytes.
fn is_whole(unplaced: &UnplacedProgram, u: &UnplacedUse) -> bool {
    let buffer = &unplaced.buffers[unplaced.versions[u.version.0 as usize].buffer.0 as usize];
    u.part.is_none() && buffer.bytes > 0 && matches!(buffer.class, StorageClass::Scratch)
}

/// Whether a kernel may store a use where it reads another.
fn own_elements(kind: &StepKind, write: usize, read: usize) -> bool {
    let StepKind::Dispatch { call, .. } = kind else { return false };
    let Some(decl) = find(&call.kernel.0) else { return false };
    let holds = |uses: &[UseIndex], at: usize| uses.iter().any(|u| usize::from(u.0) == at);
    let operand = |at: usize| {
        let mut operands = decl.operands.iter().zip(&call.operands);
        operands.find(|(_, u)| usize::from(u.0) == at).map(|(o, _)| o)
    };
    let (in_slot, slots) = (holds(&call.slots, read), decl.slots_in_place);
    let stored = operand(write).is_some_and(|o| o.access == OperandAccess::Write)
        || (slots && holds(&call.slots, write));
    let first = operand(read).is_some_and(|o| o.first) && !in_slot;
    stored && (first || (slots && in_slot && operand(read).is_none()))
}

impl<'u> Touches<'u> {
    fn of(unplaced: &'u UnplacedProgram, levels: &Levels) -> Touches<'u> {
        let mut level = vec![0; unplaced.steps.len()];
        for (number, steps) in (0..).zip(levels.iter()) {
            steps.iter().for_each(|&s| level[s as usize] = number);
        }
        let mut touches = Touches { unplaced, level, of: vec![Vec::new(); unplaced.buffers.len()] };
        for (number, step) in (0u32..).zip(&unplaced.steps) {
            for u in &step.uses {
                let buffer = touches.buffer(u).0 as usize;
                if touches.of[buffer].last() != Some(&number) {
                    touches.of[buffer].push(number);
                }
            }
        }
        touches
    }

    fn buffer(&self, u: &UnplacedUse) -> BufferId {
        self.unplaced.versions[u.version.0 as usize].buffer
    }

    /// The others that touch a buffer at a step's level; none where there are none, or others come later.
    fn beside(&self, step: u32, buffer: BufferId) -> Option<Vec<u32>> {
        let (at, of) = (self.level[step as usize], &self.of[buffer.0 as usize]);
        let level = |s: u32| self.level[s as usize];
        let beside: Vec<u32> = of.iter().copied().filter(|&s| s != step && level(s) == at).collect();
        (!beside.is_empty() && of.iter().all(|&s| level(s) <= at)).then_some(beside)
    }

    /// Whether all others touch a buffer in levels before a step's.
    fn is_last(&self, step: u32, buffer: BufferId) -> bool {
        let at = self.level[step as usize];
        self.of[buffer.0 as usize].iter().all(|&s| s == step || self.level[s as usize] < at)
    }

    /// Whether all others touch a buffer in levels after a step's.
    fn is_first(&self, step: u32, buffer: BufferId) -> bool {
        let at = self.level[step as usize];
        self.of[buffer.0 as usize].iter().all(|&s| s == step || self.level[s as usize] > at)
    }
}
