//! Which steps a loop repeats.
//!
//! In: steps over buffers, and what loops carry. Out: for each step the loop that it is in. A step is in a loop where
//! what it reads follows from what turns begin with, or where it leaves what the next one begins with, or what branches
//! of a turn join, which is another value in every turn, or where it writes a part of a value whose other parts turns
//! write. So a copy of something that no turn changes is made once, before, whichever node wanted it first.

use crate::unplaced::{UnplacedProgram, UnplacedStep, UnplacedVersion};
use pumice_types::{DimExpr, SymbolId, When};
use smallvec::SmallVec;

/// The loop of each step; empty where there is no loop. `counts` are the versions that a row of found words follows
/// from.
pub fn of_steps(
    unplaced: &UnplacedProgram,
    counts: &dyn Fn(UnplacedVersion) -> SmallVec<[UnplacedVersion; 4]>,
) -> Vec<Option<u32>> {
    if unplaced.loops.is_empty() {
        return Vec::new();
    }
    let [next, left] = left_by_turns(unplaced);
    let mut of = next.clone();
    for (l, carried) in (0u32..).zip(&unplaced.loops) {
        carried.carried.iter().for_each(|[begins, ..]| of[begins.0 as usize] = Some(l));
    }
    let mut steps = vec![None; unplaced.steps.len()];
    // The steps that fill rows of found words come last, and those that read them before.
    loop {
        let before = steps.clone();
        for (step, l) in unplaced.steps.iter().zip(&mut steps) {
            let made = || {
                let stored = step.uses.iter().filter(|u| u.access.stores()).map(|u| u.version);
                stored.filter(|v| !unplaced.carried.contains(v) && left[v.0 as usize].is_none())
            };
            let with_others = || made().find_map(|v| of[v.0 as usize]);
            *l = inside(step, &of, &next, counts).or_else(|| joins_in(unplaced, step)).or_else(with_others);
            if l.is_some() {
                made().for_each(|v| of[v.0 as usize] = *l);
            }
        }
        if steps == before {
            return steps;
        }
    }
}

/// By version, the loop whose turns leave it for the next, and the one that leaves it behind itself.
fn left_by_turns(unplaced: &UnplacedProgram) -> [Vec<Option<u32>>; 2] {
    let nothing: Vec<Option<u32>> = vec![None; unplaced.versions.len()];
    let (mut next, mut left) = (nothing.clone(), nothing);
    for (l, carried) in (0u32..).zip(&unplaced.loops) {
        for &[begins, leaves, after] in &carried.carried {
            // Of a state a turn may make several versions, one after the other.
            let made = unplaced.back_from(leaves).take_while(|version| *version != begins);
            made.for_each(|version| next[version.0 as usize] = Some(l));
            left[after.0 as usize] = Some(l);
        }
    }
    [next, left]
}

/// The loop of what a step reads, or of what it leaves for the next turn, by `next`.
fn inside(
    step: &UnplacedStep,
    of: &[Option<u32>],
    next: &[Option<u32>],
    counts: &dyn Fn(UnplacedVersion) -> SmallVec<[UnplacedVersion; 4]>,
) -> Option<u32> {
    let of = |version: UnplacedVersion| {
        let through = || counts(version).iter().find_map(|v| of[v.0 as usize]);
        of[version.0 as usize].or_else(through)
    };
    let read = step.uses.iter().filter(|u| !u.access.writes()).map(|u| u.version);
    let reads = read.chain(step.waits.iter().copied()).find_map(of);
    let mut writes = step.uses.iter().filter(|u| u.access.stores());
    reads.or_else(|| writes.find_map(|u| next[u.version.0 as usize]))
}

/// The loop in whose turns a step writes what branches join.
fn joins_in(unplaced: &UnplacedProgram, step: &UnplacedStep) -> Option<u32> {
    let mut written = step.uses.iter().filter(|u| u.access.stores());
    if !written.any(|u| unplaced.joins.contains(&u.version)) {
        return None;
    }
    let of_turn = || unplaced.loops.iter().position(|l| turn_in(&step.when, l.symbol).is_some());
    step.counted.or_else(|| of_turn().map(|l| l as u32))
}

/// Which branch is whether a loop runs.
fn turn_in(when: &When, symbol: SymbolId) -> Option<usize> {
    let running = DimExpr::symbol(symbol);
    when.branches().iter().position(|branch| branch.taken == running)
}

/// Without the branch that is whether a loop runs, and what is inside of it.
pub fn outside(when: &When, symbol: SymbolId) -> When {
    turn_in(when, symbol).map_or_else(|| when.clone(), |at| When::all(when.branches()[..at].to_vec()))
}

/// Without the branch that is whether a loop runs; none where there is no such branch.
pub fn without(when: &When, symbol: SymbolId) -> Option<When> {
    let at = turn_in(when, symbol)?;
    let (before, after) = (&when.branches()[..at], &when.branches()[at + 1..]);
    Some(When::all([before, after].concat()))
}
