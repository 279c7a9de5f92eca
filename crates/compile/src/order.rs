//! Levels: steps are list-scheduled as early as their operands allow; a host step has a level of host steps alone.
//!
//! What a step waits for follows from versions: who wrote what it reads, and who still reads what it overwrites. A
//! version that no step writes (a feed of no rows, whose step is omitted) passes the order on: whoever follows it waits
//! for what came before it.

use crate::unplaced::{UnplacedProgram, UnplacedStep, UnplacedUse, UnplacedVersion};
use pumice_plan::{Access, StepKind};
use smallvec::SmallVec;
use std::ops::Range;

/// Steps (indices) in order, level by level.
#[derive(Default)]
pub struct Levels {
    steps: Vec<u32>,
    /// For each level, where its steps end.
    ends: Vec<u32>,
}

impl Levels {
    /// All steps, level by level.
    pub fn order(&self) -> &[u32] {
        &self.steps
    }

    /// For each level, the range of its steps in the order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }

    /// The steps of each level.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.ranges().map(|r| &self.steps[r.start as usize..r.end as usize])
    }
}

/// Schedules the steps; `None` if they depend on each other in a circle, which lowering cannot produce.
pub fn levels(unplaced: &UnplacedProgram) -> Option<Levels> {
    let before = dependencies(unplaced);
    let after = before.reversed();
    let mut waiting: Vec<u32> = (0..unplaced.steps.len()).map(|i| before.of(i).len() as u32).collect();
    let is_host: Vec<bool> = unplaced.steps.iter().map(|s| matches!(s.kind, StepKind::Host)).collect();
    let free = (0..unplaced.steps.len() as u32).filter(|&i| waiting[i as usize] == 0);
    let (mut host, mut gpu): (Vec<u32>, Vec<u32>) = free.partition(|&i| is_host[i as usize]);
    let mut levels = Levels { steps: Vec::with_capacity(unplaced.steps.len()), ends: Vec::new() };
    let mut level = Vec::new();
    while !(gpu.is_empty() && host.is_empty()) {
        // Device work first: host steps that become ready meanwhile share one level.
        level.clear();
        level.append(if gpu.is_empty() { &mut host } else { &mut gpu });
        level.sort_unstable();
        for &next in level.iter().flat_map(|&i| after.of(i as usize)) {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                let ready = if is_host[next as usize] { &mut host } else { &mut gpu };
                ready.push(next);
            }
        }
        levels.steps.extend(&level);
        levels.ends.push(levels.steps.len() as u32);
    }
    (levels.steps.len() == unplaced.steps.len()).then_some(levels)
}

/// For each step some others: one list with the ends of its parts, because a list for each step was a tenth of what
/// compiling a long chain allocated.
#[derive(Default)]
struct Edges {
    ends: Vec<u32>,
    steps: Vec<u32>,
}

impl Edges {
    fn of(&self, step: usize) -> &[u32] {
        let start = if step == 0 { 0 } else { self.ends[step - 1] };
        &self.steps[start as usize..self.ends[step] as usize]
    }

    /// The same the other way round, ascending.
    fn reversed(&self) -> Edges {
        let mut ends = vec![0u32; self.ends.len()];
        self.steps.iter().for_each(|&to| ends[to as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // The beginning for now; filling moves it to the end.
            sum += std::mem::replace(end, sum);
        }
        let mut steps = vec![0; self.steps.len()];
        for from in 0..self.ends.len() {
            for &to in self.of(from) {
                steps[ends[to as usize] as usize] = from as u32;
                ends[to as usize] += 1;
            }
        }
        Edges { ends, steps }
    }
}

/// Steps that write and that read each version.
struct Touches {
    /// By version.
    writers: Vec<SmallVec<[usize; 2]>>,
    readers: Vec<SmallVec<[usize; 2]>>,
}

impl Touches {
    fn of(unplaced: &UnplacedProgram) -> Touches {
        let none = vec![SmallVec::new(); unplaced.versions.len()];
        let mut touches = Touches { writers: none.clone(), readers: none };
        for (i, step) in unplaced.steps.iter().enumerate() {
            for u in &step.uses {
                match u.access {
                    Access::StatusAtomic => {}
                    // The frame is read as the host or the last replay left it; advancing it is the last step of all.
                    _ if matches!(step.kind, StepKind::Advance { .. }) => {}
                    a if a.writes() => touches.writers[u.version.0 as usize].push(i),
                    _ => touches.readers[u.version.0 as usize].push(i),
                }
            }
        }
        touches
    }

    fn writers(&self, version: UnplacedVersion) -> impl Iterator<Item = usize> + '_ {
        self.writers[version.0 as usize].iter().copied()
    }

    fn readers(&self, version: UnplacedVersion) -> impl Iterator<Item = usize> + '_ {
        self.readers[version.0 as usize].iter().copied()
    }
}

/// Whether two writes of one version may touch the same bytes.
fn may_meet(a: &UnplacedUse, b: &UnplacedUse) -> bool {
    let apart = match (a.part, b.part) {
        (Some((a, len)), Some((b, other))) => a + len <= b || b + other <= a,
        _ => false,
    };
    a.version == b.version && a.access.writes() && !apart
}

/// A version and those before it, back to the latest that a step writes: together they are what its bytes may hold.
fn back_to_written<'a>(
    unplaced: &'a UnplacedProgram,
    touches: &'a Touches,
    from: UnplacedVersion,
) -> impl Iterator<Item = UnplacedVersion> + 'a {
    let older = move |c: &UnplacedVersion| {
        let unwritten = touches.writers(*c).next().is_none();
        unwritten.then(|| unplaced.versions[c.0 as usize].replaces).flatten()
    };
    std::iter::successors(Some(from), older)
}

/// For every step, the steps it must wait for, without repetition.
fn dependencies(unplaced: &UnplacedProgram) -> Edges {
    let touches = Touches::of(unplaced);
    let mut all = Edges { ends: Vec::with_capacity(unplaced.steps.len()), steps: Vec::new() };
    let mut deps: Vec<usize> = Vec::new();
    for (i, step) in unplaced.steps.iter().enumerate() {
        waits_for(unplaced, &touches, (i, step), &mut deps);
        deps.sort_unstable();
        deps.dedup();
        all.steps.extend(deps.drain(..).filter(|&d| d != i).map(|d| d as u32));
        all.ends.push(all.steps.len() as u32);
    }
    all
}

/// What a step waits for, in any order.
fn waits_for(
    unplaced: &UnplacedProgram,
    touches: &Touches,
    (i, step): (usize, &UnplacedStep),
    deps: &mut Vec<usize>,
) {
    for u in &step.uses {
        let writes = u.access.writes() && u.access != Access::StatusAtomic;
        if !writes {
            let holds = back_to_written(unplaced, touches, u.version);
            deps.extend(holds.flat_map(|c| touches.writers(c)));
            continue;
        }
        // Writers of one value whose bytes are not known to be apart follow one another.
        let meets = |w: &usize| *w < i && unplaced.steps[*w].uses.iter().any(|earlier| may_meet(earlier, u));
        deps.extend(touches.writers(u.version).filter(meets));
        // In place: whoever wrote or reads the bytes it replaces comes first, outputs that show an older version
        // among them.
        if let Some(previous) = unplaced.versions[u.version.0 as usize].replaces {
            let replaced = back_to_written(unplaced, touches, previous);
            deps.extend(replaced.flat_map(|c| touches.writers(c).chain(touches.readers(c))));
        }
    }
    if matches!(step.kind, StepKind::Advance { .. }) {
        deps.extend(0..i);
    }
}
