//! Levels: steps are list-scheduled as early as their operands allow; a host step has a level of host steps alone.
//!
//! What a step waits for follows from contents: who wrote what it reads, and who still reads what it overwrites. A
//! version that no step writes (a feed of no rows, whose step is omitted) passes the order on: whoever follows it waits
//! for what came before it.

use crate::draft::{Draft, DraftContent, DraftStep, DraftUse};
use pumice_plan::{Access, StepKind};
use smallvec::SmallVec;

/// Steps (indices) of every level.
pub type Levels = Vec<Vec<usize>>;

/// Schedules the steps; `None` if they depend on each other in a circle, which lowering cannot produce.
pub fn levels(draft: &Draft) -> Option<Levels> {
    let steps = &draft.steps;
    let before = dependencies(draft);
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

/// Steps that write and that read each content.
struct Touches {
    /// By content.
    writers: Vec<SmallVec<[usize; 2]>>,
    readers: Vec<SmallVec<[usize; 2]>>,
}

impl Touches {
    fn of(draft: &Draft) -> Touches {
        let none = vec![SmallVec::new(); draft.contents.len()];
        let mut touches = Touches { writers: none.clone(), readers: none };
        for (i, step) in draft.steps.iter().enumerate() {
            for u in &step.uses {
                match u.access {
                    Access::StatusAtomic => {}
                    // The frame is read as the host or the last replay left it; advancing it is the last step of all.
                    _ if matches!(step.kind, StepKind::Advance { .. }) => {}
                    a if a.writes() => touches.writers[u.content.0 as usize].push(i),
                    _ => touches.readers[u.content.0 as usize].push(i),
                }
            }
        }
        touches
    }

    fn writers(&self, content: DraftContent) -> impl Iterator<Item = usize> + '_ {
        self.writers[content.0 as usize].iter().copied()
    }

    fn readers(&self, content: DraftContent) -> impl Iterator<Item = usize> + '_ {
        self.readers[content.0 as usize].iter().copied()
    }
}

/// Whether two writes of one content may touch the same bytes.
fn may_meet(a: &DraftUse, b: &DraftUse) -> bool {
    let apart = match (a.part, b.part) {
        (Some((a, len)), Some((b, other))) => a + len <= b || b + other <= a,
        _ => false,
    };
    a.content == b.content && a.access.writes() && !apart
}

/// A version and those before it, back to the latest that a step writes: together they are what its bytes may hold.
fn back_to_written<'a>(
    draft: &'a Draft,
    touches: &'a Touches,
    from: DraftContent,
) -> impl Iterator<Item = DraftContent> + 'a {
    let older = move |c: &DraftContent| {
        let unwritten = touches.writers(*c).next().is_none();
        unwritten.then(|| draft.contents[c.0 as usize].replaces).flatten()
    };
    std::iter::successors(Some(from), older)
}

/// For every step, the steps it must wait for, without repetition.
fn dependencies(draft: &Draft) -> Vec<Vec<usize>> {
    let steps = &draft.steps;
    let touches = Touches::of(draft);
    let mut all = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        let mut deps: Vec<usize> = Vec::new();
        for u in &step.uses {
            let writes = u.access.writes() && u.access != Access::StatusAtomic;
            if !writes {
                let holds = back_to_written(draft, &touches, u.content);
                deps.extend(holds.flat_map(|c| touches.writers(c)));
                continue;
            }
            // Writers of one value whose bytes are not known to be apart follow one another.
            let meets = |w: &usize| *w < i && steps[*w].uses.iter().any(|earlier| may_meet(earlier, u));
            deps.extend(touches.writers(u.content).filter(meets));
            // In place: whoever wrote or reads the bytes it replaces comes first, outputs that show an older version
            // among them.
            if let Some(previous) = draft.contents[u.content.0 as usize].replaces {
                let replaced = back_to_written(draft, &touches, previous);
                deps.extend(replaced.flat_map(|c| touches.writers(c).chain(touches.readers(c))));
            }
        }
        if matches!(step.kind, StepKind::Advance { .. }) {
            deps.extend(0..i);
        }
        deps.sort_unstable();
        deps.dedup();
        deps.retain(|&d| d != i);
        all.push(deps);
    }
    all
}
