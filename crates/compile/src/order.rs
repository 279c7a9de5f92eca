//! Levels: steps are list-scheduled as early as their operands allow; a host step has a level of host steps alone.
//!
//! What a step waits for follows from contents: who wrote what it reads, and who still reads what it overwrites.

use crate::draft::{Draft, DraftContent, DraftStep};
use pumice_plan::{Access, StepKind};
use std::collections::BTreeMap;

/// Steps (indices) of every level.
pub type Levels = Vec<Vec<usize>>;

/// Schedules the steps; `None` if they depend on each other in a circle, which lowering cannot produce.
pub fn levels(draft: &Draft, steps: &[DraftStep]) -> Option<Levels> {
    let before = dependencies(draft, steps);
    let mut waiting: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for (i, deps) in before.iter().enumerate() {
        deps.iter().for_each(|&d| after[d].push(i));
    }
    let mut ready: Vec<usize> = (0..steps.len()).filter(|&i| waiting[i] == 0).collect();
    let mut levels = Vec::new();
    let mut done = 0;
    while !ready.is_empty() {
        // Device work first: host steps that become ready meanwhile share one level.
        let (gpu, host): (Vec<usize>, Vec<usize>) = ready.iter().copied().partition(|&i| !is_host(&steps[i]));
        let (level, rest) = if gpu.is_empty() { (host, Vec::new()) } else { (gpu, host) };
        ready = rest;
        for &i in &level {
            for &next in &after[i] {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.push(next);
                }
            }
        }
        ready.sort_unstable();
        done += level.len();
        levels.push(level);
    }
    (done == steps.len()).then_some(levels)
}

fn is_host(step: &DraftStep) -> bool {
    matches!(step.kind, StepKind::Host)
}

/// For every step, the earlier steps it must wait for, without repetition.
fn dependencies(draft: &Draft, steps: &[DraftStep]) -> Vec<Vec<usize>> {
    let mut writers: BTreeMap<DraftContent, Vec<usize>> = BTreeMap::new();
    let mut readers: BTreeMap<DraftContent, Vec<usize>> = BTreeMap::new();
    let mut all = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        let mut deps: Vec<usize> = Vec::new();
        for u in &step.uses {
            let written = writers.get(&u.content).into_iter().flatten();
            match u.access {
                Access::StatusAtomic => deps.extend(written),
                a if !a.writes() => deps.extend(written),
                _ => {
                    // Writers of one value whose bytes are not known to be apart follow one another.
                    if u.part.is_none() {
                        deps.extend(written);
                    }
                    // In place: whoever wrote or reads the bytes it replaces comes first.
                    let replaced = draft.contents[u.content.0 as usize].replaces;
                    for c in replaced.into_iter() {
                        deps.extend(writers.get(&c).into_iter().flatten());
                        deps.extend(readers.get(&c).into_iter().flatten());
                    }
                }
            }
        }
        if matches!(step.kind, StepKind::Advance { .. }) {
            deps.extend(0..i);
        }
        for u in &step.uses {
            match u.access {
                Access::StatusAtomic => {}
                a if a.writes() => writers.entry(u.content).or_default().push(i),
                _ => readers.entry(u.content).or_default().push(i),
            }
        }
        deps.sort_unstable();
        deps.dedup();
        deps.retain(|&d| d != i);
        all.push(deps);
    }
    all
}
