//! Which step is repeated next: of those whose results wait through the peak, the one that frees the most bytes for the
//! least time.

use super::schedule::{Peak, Schedule, StepNo, StoredNo};
use crate::passes::fuse_elementwise::INSTRUCTIONS;
use pumice_types::slots;

/// Steps that are repeated together.
pub struct Choice {
    /// The steps in the order of their need; the last is the one that is wanted.
    pub steps: Vec<StepNo>,
    /// What they wait for.
    pub after: StoredNo,
    /// Who reads a repeated value from now on, and which.
    pub readers: Vec<(StepNo, StoredNo)>,
    /// Whether the wanted step becomes a part of the one that reads it (`fuse_elementwise`).
    pub inside: bool,
}

/// Steps that are repeated for one value at most.
const LONGEST: usize = 32;
/// What a level costs beside its work: a barrier and a dispatch on the H200, in microseconds.
const LEVEL: f64 = 2.4;

/// The least share of its time that a step takes inside its reader: instructions alone.
const LEAST: f64 = 0.05;

/// The best choice at a peak; none where nothing that is alive there can be repeated for less than it frees.
pub fn best(schedule: &Schedule, peak: &Peak) -> Option<Choice> {
    let mut best: Option<(f64, Choice)> = None;
    for step in 0..schedule.steps.len() {
        let Some((score, choice)) = weighed(schedule, peak, step) else { continue };
        if best.as_ref().is_none_or(|(most, _)| score > *most) {
            best = Some((score, choice));
        }
    }
    best.map(|(_, choice)| choice)
}

/// Bytes freed for each microsecond by repeating a step, with what that takes.
fn weighed(schedule: &Schedule, peak: &Peak, step: StepNo) -> Option<(f64, Choice)> {
    let of = &schedule.steps[step];
    if !of.repeatable || of.again.is_some() || schedule.levels[step] >= peak.level {
        return None;
    }
    let (mut freed, mut readers) = (0, Vec::new());
    for &v in &of.results {
        let late: Vec<StepNo> =
            schedule.readers[v].iter().copied().filter(|&s| schedule.levels[s] > peak.level).collect();
        let there = schedule.readers[v].iter().any(|&s| schedule.levels[s] == peak.level);
        if !late.is_empty() && !there {
            freed += schedule.stored[v].bytes;
        }
        readers.extend(late.into_iter().map(|s| (s, v)));
    }
    if freed == 0 || !readers.iter().all(|r| schedule.steps[r.0].plain) {
        return None;
    }
    let after = awaited(schedule, peak, of.results.as_slice(), &readers)?;
    let inside = goes_inside(schedule, step, &readers);
    let (steps, mut time, kept) = with_operands(schedule, peak, step, after)?;
    if inside {
        time -= LEVEL + of.time - time_inside(schedule, step);
    }
    let net = freed.checked_sub(kept).filter(|net| *net > 0)?;
    Some((net as f64 / time, Choice { steps, after, readers, inside }))
}

/// Whether a step becomes a part of the one that reads it late: both are elementwise over one space.
fn goes_inside(schedule: &Schedule, step: StepNo, readers: &[(StepNo, StoredNo)]) -> bool {
    let of = &schedule.steps[step];
    let [(reader, v)] = *readers else { return false };
    let reader = &schedule.steps[reader];
    let bound = of.reads.len() + reader.reads.len() + reader.results.len();
    let space = |v: StoredNo| schedule.stored[v].space;
    let both = of.instructions.zip(reader.instructions).map(|(a, b)| a + b);
    both.is_some_and(|both| both <= INSTRUCTIONS)
        && bound <= slots::ELEMENTWISE
        && !reader.viewed.contains(&v)
        && reader.results.first().is_some_and(|&result| space(result) == space(v))
}

/// What a step costs inside its reader, which reads the step's operands instead of its result.
fn time_inside(schedule: &Schedule, step: StepNo) -> f64 {
    let of = &schedule.steps[step];
    let bytes = |v: StoredNo| schedule.stored[v].bytes as f64;
    let read: f64 = of.reads.iter().map(|r| bytes(r.1)).sum();
    let made: f64 = of.results.iter().map(|&v| bytes(v)).sum();
    of.time * ((read - made) / (read + made)).max(LEAST)
}

/// What the earliest of the late readers also reads, the latest of it that is always made: what waits for a value of a
/// turn or a branch would be of it.
fn awaited(
    schedule: &Schedule,
    peak: &Peak,
    own: &[StoredNo],
    readers: &[(StepNo, StoredNo)],
) -> Option<StoredNo> {
    let &(earliest, _) = readers.iter().min_by_key(|(s, _)| schedule.levels[*s])?;
    if let Some(after) = schedule.steps[earliest].after {
        return Some(after);
    }
    let always = |v: &StoredNo| schedule.steps[schedule.stored[*v].step].always;
    let beside = schedule.needs(earliest).filter(|v| !own.contains(v) && always(v));
    beside.max_by_key(|&v| schedule.made(v)).filter(|&v| schedule.made(v) >= peak.level)
}

/// The steps that must be repeated so that a step can be, with it as the last; their time; and bytes alive at the peak
/// that are not yet.
fn with_operands(
    schedule: &Schedule,
    peak: &Peak,
    wanted: StepNo,
    after: StoredNo,
) -> Option<(Vec<StepNo>, f64, u64)> {
    let from = schedule.made(after);
    let (mut steps, mut time, mut kept) = (vec![wanted], 0.0, 0);
    let mut next = 0;
    while let Some(&step) = steps.get(next) {
        next += 1;
        let is_there = schedule.steps[step].again.is_some();
        time += if is_there { 0.0 } else { schedule.steps[step].time + LEVEL };
        if is_there {
            continue;
        }
        for &(_, v) in &schedule.steps[step].reads {
            let (stored, maker) = (schedule.stored[v], &schedule.steps[schedule.stored[v].step]);
            let dies = stored.bytes > 0 && schedule.last(v) <= from;
            if !dies || steps.contains(&stored.step) {
                continue;
            }
            let again =
                maker.again.is_some() || (maker.repeatable && maker.time <= schedule.steps[wanted].time);
            if again && steps.len() < LONGEST {
                steps.push(stored.step);
            } else if schedule.last(v) < peak.level {
                kept += stored.bytes;
            }
        }
    }
    // Who makes comes before who reads.
    steps.sort_by_key(|&s| (schedule.levels[s], s));
    Some((steps, time, kept))
}
