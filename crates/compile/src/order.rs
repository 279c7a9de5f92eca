//! Levels: steps are list-scheduled as early as their operands allow; a host step has a level of host steps alone.
//!
//! What a step waits for follows from versions: who wrote what it reads or is ordered after, and who still reads what
//! it overwrites. A version that no step writes (a feed of no rows, whose step is omitted) passes the order on: whoever
//! follows it waits for what came before it.

use crate::unplaced::{UnplacedProgram, UnplacedStep, UnplacedUse, UnplacedVersion};
use pumice_plan::{Access, StepKind};
use smallvec::SmallVec;
use std::collections::BTreeMap;
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

    /// Adds a level, if it has steps.
    pub fn push(&mut self, level: &[u32]) {
        if !level.is_empty() {
            self.steps.extend(level);
            self.ends.push(self.steps.len() as u32);
        }
    }

    /// The steps of each level.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.ranges().map(|r| &self.steps[r.start as usize..r.end as usize])
    }
}

/// Schedules the steps as early as they can, and says who waits for each; `None` if they depend on each other in a
/// circle, which lowering cannot produce. A step waits for those of `waits` as well. The steps of a loop have levels of
/// their own, one after the other: they are replayed together.
pub fn levels(
    unplaced: &UnplacedProgram,
    loop_of: &[Option<u32>],
    waits: &BTreeMap<u32, Vec<u32>>,
) -> Option<(Levels, Edges)> {
    let before = dependencies(unplaced, waits);
    let after = before.reversed();
    let mut units = Units::new(unplaced, loop_of, &before);
    let count = unplaced.steps.len();
    let mut levels = Levels { steps: Vec::with_capacity(count), ends: Vec::new() };
    let mut done = Vec::new();
    while units.take(&mut done, &mut levels, (&before, &after))? {
        for &next in done.iter().flat_map(|&i| after.of(i as usize)) {
            // The turn has scheduled its own.
            if !done.first().is_some_and(|&i| units.are_together(i, next)) {
                units.one_less(next);
            }
        }
    }
    (levels.steps.len() == count).then_some((levels, after))
}

/// What is scheduled as one: a step, or the steps of a loop.
struct Units<'u> {
    unplaced: &'u UnplacedProgram,
    loop_of: &'u [Option<u32>],
    /// For how many others each step, and each loop, waits.
    waiting: Vec<u32>,
    loops: Vec<LoopSteps>,
    ready: Ready,
}

/// The steps of a loop, and for how many others they wait.
#[derive(Default)]
struct LoopSteps {
    members: Vec<u32>,
    waiting: u32,
}

/// What waits for nothing any more.
#[derive(Default)]
struct Ready {
    gpu: Vec<u32>,
    loops: Vec<usize>,
    host: Vec<u32>,
}

impl<'u> Units<'u> {
    fn new(unplaced: &'u UnplacedProgram, loop_of: &'u [Option<u32>], before: &Edges) -> Units<'u> {
        let loops = unplaced.loops.iter().map(|_| LoopSteps::default()).collect();
        let (waiting, ready) = (Vec::with_capacity(unplaced.steps.len()), Ready::default());
        let mut units = Units { unplaced, loop_of, waiting, loops, ready };
        for i in 0..unplaced.steps.len() as u32 {
            let outside = before.of(i as usize).iter().filter(|&&d| !units.are_together(i, d)).count() as u32;
            units.waiting.push(outside);
            match units.of(i) {
                Some(l) => {
                    units.loops[l].members.push(i);
                    units.loops[l].waiting += outside;
                }
                None if outside == 0 => units.free(i),
                None => {}
            }
        }
        let free = |l: &usize| units.loops[*l].waiting == 0 && !units.loops[*l].members.is_empty();
        units.ready.loops = (0..units.loops.len()).filter(free).collect();
        units
    }

    /// The loop of a step.
    fn of(&self, step: u32) -> Option<usize> {
        self.loop_of.get(step as usize).copied().flatten().map(|l| l as usize)
    }

    /// Whether two steps are of one loop.
    fn are_together(&self, a: u32, b: u32) -> bool {
        self.of(a).is_some() && self.of(a) == self.of(b)
    }

    fn free(&mut self, step: u32) {
        let is_host = matches!(self.unplaced.steps[step as usize].kind, StepKind::Host);
        if is_host { self.ready.host.push(step) } else { self.ready.gpu.push(step) }
    }

    /// A step waits for one less, and so does its loop.
    fn one_less(&mut self, step: u32) {
        if let Some(l) = self.of(step) {
            self.loops[l].waiting -= 1;
            if self.loops[l].waiting == 0 {
                self.ready.loops.push(l);
            }
            return;
        }
        self.waiting[step as usize] -= 1;
        if self.waiting[step as usize] == 0 {
            self.free(step);
        }
    }

    /// Adds the next level, or the levels of a loop, whose steps are `done`; false where nothing is left. Device work
    /// first: host steps that become ready meanwhile share one level.
    fn take(
        &mut self,
        done: &mut Vec<u32>,
        levels: &mut Levels,
        (before, after): (&Edges, &Edges),
    ) -> Option<bool> {
        done.clear();
        if self.ready.gpu.is_empty()
            && let Some(l) = self.ready.loops.pop()
        {
            done.extend(turn(&self.loops[l].members, levels, before, after)?);
            return Some(true);
        }
        done.append(if self.ready.gpu.is_empty() { &mut self.ready.host } else { &mut self.ready.gpu });
        done.sort_unstable();
        levels.push(done);
        Some(!done.is_empty())
    }
}

/// The levels of one turn of a loop; its steps.
fn turn(members: &[u32], levels: &mut Levels, before: &Edges, after: &Edges) -> Option<Vec<u32>> {
    let is_member = |i: &u32| members.binary_search(i).is_ok();
    let mut waiting: BTreeMap<u32, usize> =
        members.iter().map(|&i| (i, before.of(i as usize).iter().filter(|d| is_member(d)).count())).collect();
    let mut level: Vec<u32> = members.iter().copied().filter(|i| waiting[i] == 0).collect();
    let mut done = Vec::with_capacity(members.len());
    while !level.is_empty() {
        level.sort_unstable();
        levels.push(&level);
        let mut next = Vec::new();
        for after in level.iter().flat_map(|&i| after.of(i as usize)) {
            if let Some(left) = waiting.get_mut(after) {
                *left -= 1;
                if *left == 0 {
                    next.push(*after);
                }
            }
        }
        done.append(&mut level);
        level = next;
    }
    (done.len() == members.len()).then_some(done)
}

/// For each step some others: one list with the ends of its parts, because a list for each step was a tenth of what
/// compiling a long chain allocated.
#[derive(Default)]
pub struct Edges {
    ends: Vec<u32>,
    steps: Vec<u32>,
}

impl Edges {
    /// Those of a step.
    pub fn of(&self, step: usize) -> &[u32] {
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
fn dependencies(unplaced: &UnplacedProgram, waits: &BTreeMap<u32, Vec<u32>>) -> Edges {
    let touches = Touches::of(unplaced);
    let mut all = Edges { ends: Vec::with_capacity(unplaced.steps.len()), steps: Vec::new() };
    let mut deps: Vec<usize> = Vec::new();
    for (i, step) in unplaced.steps.iter().enumerate() {
        waits_for(unplaced, &touches, (i, step), &mut deps);
        deps.extend(waits.get(&(i as u32)).into_iter().flatten().map(|&first| first as usize));
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
        let writes = u.access.stores();
        if !writes {
            let holds = back_to_written(unplaced, touches, u.version);
            // What the other branch of a choice writes is not there where this step runs.
            let beside = |w: &usize| unplaced.steps[*w].when.excludes(&step.when);
            deps.extend(holds.flat_map(|c| touches.writers(c)).filter(|w| !beside(w)));
            continue;
        }
        // Writers of one value whose bytes are not known to be apart follow one another.
        let meets = |w: &usize| {
            let other = &unplaced.steps[*w];
            *w < i
                && !other.when.excludes(&step.when)
                && other.uses.iter().any(|earlier| may_meet(earlier, u))
        };
        deps.extend(touches.writers(u.version).filter(meets));
        // In place: whoever wrote or reads the bytes it replaces comes first, outputs that show an older version
        // among them.
        if let Some(previous) = unplaced.versions[u.version.0 as usize].replaces {
            let replaced = back_to_written(unplaced, touches, previous);
            deps.extend(replaced.flat_map(|c| touches.writers(c).chain(touches.readers(c))));
        }
    }
    for &version in &step.waits {
        let holds = back_to_written(unplaced, touches, version);
        let beside = |w: &usize| unplaced.steps[*w].when.excludes(&step.when);
        deps.extend(holds.flat_map(|c| touches.writers(c)).filter(|w| !beside(w)));
    }
    if matches!(step.kind, StepKind::Advance { .. }) {
        deps.extend(0..i);
    }
}
