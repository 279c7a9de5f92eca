//! Steps with slack wait: what would lie in scratch until its first reader is made shortly before it, where that lowers
//! the most bytes that are alive at once. No level is added.
//!
//! In: the earliest schedule. Out: the same levels, with steps in later ones. Steps of loops and of the host stay, and
//! so does whatever nobody waits for.

use crate::order::{Edges, Levels};
use crate::unplaced::{StorageClass, UnplacedProgram};
use pumice_plan::StepKind;
use std::collections::BTreeMap;

/// Where steps are, and who touches the bytes of the arena.
struct Slack<'u> {
    unplaced: &'u UnplacedProgram,
    after: &'u Edges,
    /// By step.
    level: Vec<u32>,
    /// By buffer of the arena, the steps that touch it.
    touching: Vec<Vec<u32>>,
    /// By level, whether a step may be moved there.
    open: Vec<bool>,
}

/// The levels with steps moved later; none where no step is.
pub fn later(
    unplaced: &UnplacedProgram,
    levels: &Levels,
    after: &Edges,
    loop_of: &[Option<u32>],
) -> Option<Levels> {
    let mut slack = Slack::of(unplaced, levels, after, loop_of);
    let mut moved = false;
    // Readers first, so that what they read may follow them.
    for &step in levels.order().iter().rev() {
        let from = slack.level[step as usize];
        let is_open = slack.open[from as usize];
        let Some(to) = slack.latest(step).filter(|&to| is_open && to > from) else { continue };
        if slack.is_no_more(step, to) {
            slack.level[step as usize] = to;
            moved = true;
        }
    }
    moved.then(|| slack.levels(levels))
}

impl<'u> Slack<'u> {
    fn of(
        unplaced: &'u UnplacedProgram,
        levels: &Levels,
        after: &'u Edges,
        loop_of: &[Option<u32>],
    ) -> Slack<'u> {
        let mut level = vec![0; unplaced.steps.len()];
        let mut open = Vec::new();
        for (number, steps) in (0..).zip(levels.iter()) {
            steps.iter().for_each(|&s| level[s as usize] = number);
            let plain = |s: &u32| {
                let in_loop = loop_of.get(*s as usize).copied().flatten().is_some();
                !in_loop && matches!(unplaced.steps[*s as usize].kind, StepKind::Dispatch { .. })
            };
            open.push(steps.iter().all(plain));
        }
        let mut touching = vec![Vec::new(); unplaced.buffers.len()];
        for (number, step) in (0u32..).zip(&unplaced.steps) {
            for u in &step.uses {
                let buffer = unplaced.versions[u.version.0 as usize].buffer.0 as usize;
                if matches!(unplaced.buffers[buffer].class, StorageClass::Scratch)
                    && touching[buffer].last() != Some(&number)
                {
                    touching[buffer].push(number);
                }
            }
        }
        Slack { unplaced, after, level, touching, open }
    }

    /// The latest level before all that wait for a step.
    fn latest(&self, step: u32) -> Option<u32> {
        let first = self.after.of(step as usize).iter().map(|&s| self.level[s as usize]).min()?;
        (0..first).rev().find(|&l| self.open[l as usize])
    }

    /// Whether no more is alive if a step comes later: it makes as much as it is the last to read. What it reads may be
    /// made later then.
    fn is_no_more(&self, step: u32, to: u32) -> bool {
        let from = self.level[step as usize];
        let (mut made, mut kept) = (0u64, 0u64);
        let mut buffers: Vec<usize> = Vec::new();
        for u in &self.unplaced.steps[step as usize].uses {
            let buffer = self.unplaced.versions[u.version.0 as usize].buffer.0 as usize;
            if self.touching[buffer].is_empty() || buffers.contains(&buffer) {
                continue;
            }
            buffers.push(buffer);
            let bytes = self.unplaced.buffers[buffer].bytes;
            let others =
                || self.touching[buffer].iter().filter(|s| **s != step).map(|&s| self.level[s as usize]);
            if others().all(|level| level > from) {
                made += bytes;
            } else if others().all(|level| level < to) {
                kept += bytes;
            }
        }
        made > 0 && made >= kept
    }

    /// The levels as they are now; those that are left empty are gone.
    fn levels(&self, before: &Levels) -> Levels {
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &step in before.order() {
            members.entry(self.level[step as usize]).or_default().push(step);
        }
        let mut levels = Levels::default();
        for steps in members.values_mut() {
            steps.sort_unstable();
            levels.push(steps);
        }
        levels
    }
}
