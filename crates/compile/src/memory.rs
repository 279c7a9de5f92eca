//! Keeping a limit of memory: a program that needs more than there is computes values again.
//!
//! In: what is compiled, as often as it takes. Out: the plan that needs nothing more, or the one that loses the least
//! time of those that were tried, else the smallest; or by how much that is too large. The pass `recompute` works on
//! estimates, places are known only of a whole plan, so the rooms that it is given follow from what came out.

use crate::Compiling;
use crate::error::CompileError;
use crate::options::Options;
use crate::stats::step_us;
use pumice_plan::{Access, Again, Plan, RegionKind, Run};
use pumice_types::{Bytes, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Plans that are made at most for a limit. A search by secants is within a few hundredths after four (training steps
/// of GPT-2 and ResNet-50, 2026-11-28).
const ATTEMPTS: usize = 6;
/// Plans that are made for the least bytes. After seven a chain of up to twelve layers has no smaller one by a
/// hundredth of its scratch (2026-11-29).
const LEAST_ATTEMPTS: usize = 7;
/// The share of its room from which on a run is not given a larger one.
const FULL: f64 = 0.95;

/// The room of a run, and what its nodes take.
#[derive(Clone, Debug)]
pub struct RunRoom {
    /// Bytes that the pass is told.
    pub bytes: u64,
    /// Microseconds of nodes, by name; those that report or run on the host are left out.
    pub times: BTreeMap<String, f64>,
}

/// Bytes that are there together.
#[derive(Clone, Copy, Debug)]
pub struct Needed {
    /// Of weights.
    pub weights: u64,
    /// Of states.
    pub states: u64,
    /// Of scratch.
    pub scratch: u64,
    /// Of what passes between host and device, which is not counted.
    pub besides: u64,
}

impl Needed {
    fn of(plan: &Plan) -> Needed {
        let [weights, states, scratch] = [RegionKind::Weights, RegionKind::States, RegionKind::Scratch]
            .map(|kind| plan.region_size(kind).0);
        let all: u64 = plan.regions.iter().map(|region| region.size().0).sum();
        Needed { weights, states, scratch, besides: all.saturating_sub(weights + states + scratch) }
    }

    fn sum(self) -> u64 {
        self.weights.saturating_add(self.states).saturating_add(self.scratch)
    }
}

/// What there is.
fn available(options: &Options, target: &Target) -> u64 {
    options.memory.unwrap_or(u64::MAX).min(target.limits.memory.0)
}

/// Refuses what there is no memory for.
pub fn fits(options: &Options, target: &Target, needed: Needed) -> Result<(), CompileError> {
    let available = available(options, target);
    if needed.sum() <= available {
        return Ok(());
    }
    let limited = available < target.limits.memory.0;
    Err(CompileError::OutOfMemory {
        needed: Bytes(needed.sum()),
        weights: Bytes(needed.weights),
        states: Bytes(needed.states),
        scratch: Bytes(needed.scratch),
        besides: Bytes(needed.besides),
        available: Bytes(available),
        target: if limited { "the limit of memory".to_owned() } else { target.name.clone() },
    })
}

/// The plan that fits.
///
/// # Errors
/// [`CompileError::OutOfMemory`] with what the smallest plan needs; what else compiling says.
pub fn kept(compiling: &Compiling<'_>) -> Result<Plan, CompileError> {
    let (options, target) = (compiling.options(), compiling.target());
    let first = compiling.plan(&[])?;
    let needed = Needed::of(&first);
    let none = fits(options, target, needed);
    if none.is_ok() || options.opt.skip.contains("recompute") {
        return none.map(|()| first);
    }
    let fixed = Needed { scratch: 0, ..needed }.sum();
    let room = available(options, target).saturating_sub(fixed);
    let found = if room > 0 { searched(compiling, &first, room)? } else { None };
    let mut plan = match found {
        Some(plan) => plan,
        None => least(compiling, &first)?,
    };
    fits(options, target, Needed::of(&plan))?;
    note(&first, &mut plan);
    Ok(plan)
}

/// The fastest plan of those tried that keeps to this much scratch.
fn searched(compiling: &Compiling<'_>, first: &Plan, room: u64) -> Result<Option<Plan>, CompileError> {
    let (options, target) = (compiling.options(), compiling.target());
    let mut search = Search::new(first, room, target);
    for _ in 0..ATTEMPTS {
        let plan = compiling.plan(&search.rooms)?;
        let fits = fits(options, target, Needed::of(&plan)).is_ok();
        if !search.follow(plan, fits) {
            break;
        }
    }
    Ok(search.best.map(|(_, plan)| plan))
}

/// The plan of the least bytes of those in which each run is given a share of the scratch that it takes at first: a
/// share that nothing can be done with is worse than one that is just reached, so that the best lies between. Which are
/// tried follows from the program alone: a limit of what is told of this plan is one that is kept.
fn least(compiling: &Compiling<'_>, first: &Plan) -> Result<Plan, CompileError> {
    let (mut least, mut plan) = (Needed::of(first).sum(), first.clone());
    let (mut at, mut apart) = (0.625, 0.1875);
    let mut shares = vec![at];
    for _ in 0..LEAST_ATTEMPTS {
        let Some(share) = shares.pop() else { break };
        let other = compiling.plan(&rooms_of(first, share, compiling.target()))?;
        let needed = Needed::of(&other).sum();
        if needed < least {
            (least, plan, at) = (needed, other, share);
        }
        if shares.is_empty() {
            shares = vec![at - apart, at + apart];
            apart /= 2.0;
        }
    }
    Ok(plan)
}

/// For each run a share of the scratch that it takes.
fn rooms_of(plan: &Plan, share: f64, target: &Target) -> Vec<Option<RunRoom>> {
    let bytes = |run: &Run| (run.stats.scratch.0 as f64 * share) as u64;
    let room = |run: &Run| Some(RunRoom { bytes: bytes(run), times: times(plan, run, target) });
    plan.runs.iter().map(room).collect()
}

/// Which rooms to try.
struct Search {
    /// By run.
    rooms: Vec<Option<RunRoom>>,
    /// The scratch that there is.
    room: u64,
    /// By run, the largest room that was kept to and the smallest that was not.
    bounds: Vec<(u64, u64)>,
    /// The fastest plan that fits, and its time.
    best: Option<(f64, Plan)>,
}

impl Search {
    fn new(first: &Plan, room: u64, target: &Target) -> Search {
        let of = |run: &Run| {
            let larger = run.stats.scratch.0 > room;
            larger.then(|| RunRoom { bytes: room, times: times(first, run, target) })
        };
        let rooms: Vec<Option<RunRoom>> = first.runs.iter().map(of).collect();
        Search { bounds: vec![(0, u64::MAX); rooms.len()], rooms, room, best: None }
    }

    /// What follows from a plan that fits, or does not: other rooms; false where none is worth a try.
    fn follow(&mut self, plan: Plan, fits: bool) -> bool {
        let mut again = false;
        for ((run, room), bounds) in plan.runs.iter().zip(&mut self.rooms).zip(&mut self.bounds) {
            if let Some(RunRoom { bytes, .. }) = room {
                let next = next_room(*bytes, bounds, run.stats.scratch.0.max(1), self.room);
                again |= next.abs_diff(*bytes) > *bytes / 100;
                *bytes = next;
            }
        }
        let time: f64 = plan.runs.iter().map(|run| run.stats.floor.total_us).sum();
        if fits && self.best.as_ref().is_none_or(|(least, _)| time < *least) {
            self.best = Some((time, plan));
        }
        again
    }
}

/// The room of a run that took so much scratch in one of `bytes`, where there is `room`: as much less, or more, as the
/// scratch was too large, or small; between what is known.
fn next_room(bytes: u64, bounds: &mut (u64, u64), scratch: u64, room: u64) -> u64 {
    let within = scratch <= room;
    match within {
        true => bounds.0 = bounds.0.max(bytes),
        false => bounds.1 = bounds.1.min(bytes),
    }
    if within && scratch as f64 >= FULL * room as f64 {
        return bytes;
    }
    let (share, margin) = (room as f64 / scratch as f64, if within { 1.0 } else { 0.99 });
    let scaled = (bytes as f64 * share * margin) as u64;
    let (low, high) = *bounds;
    if scaled <= low || scaled >= high { low / 2 + high.min(room.saturating_mul(2)) / 2 } else { scaled }
}

/// Microseconds of a run's nodes at the upper bounds of the symbols.
fn times(plan: &Plan, run: &Run, target: &Target) -> BTreeMap<String, f64> {
    let symbols = run.symbols_of(&plan.symbols);
    let (mut times, mut others) = (BTreeMap::<String, f64>::new(), BTreeSet::new());
    for step in &run.program.steps {
        let reports = step.uses.iter().any(|u| matches!(u.access, Access::StatusAtomic));
        if step.is_host() || reports {
            others.insert(step.origin.to_string());
        }
        *times.entry(step.origin.to_string()).or_default() += step_us(step, &symbols, target);
    }
    times.retain(|name, _| !others.contains(name));
    times
}

/// Says of each run what it computes again.
fn note(first: &Plan, plan: &mut Plan) {
    for (run, before) in plan.runs.iter_mut().zip(&first.runs) {
        let steps = run.stats.steps.saturating_sub(before.stats.steps);
        if steps > 0 || run.stats.scratch < before.stats.scratch {
            let (scratch, floor_us) = (before.stats.scratch, before.stats.floor.total_us);
            run.stats.again = Some(Again { steps, scratch, floor_us });
        }
    }
}
