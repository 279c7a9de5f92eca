//! From steps over buffers to a program over spans: levels, lives, places, segments, barriers.

use crate::arena::{self, ArenaRequest};
use crate::error::CompileError;
use crate::interface::{Interface, RunIo};
use crate::layout::chunk_size;
use crate::options::{Barriers, Options};
use crate::unplaced::{BufferId, StorageClass, UnplacedLoop, UnplacedProgram, UnplacedStep, UnplacedVersion};
use crate::weights::Weights;
use crate::{hazard, loops, order, reuse, segment, slack};
use pumice_plan::frame::FoundRow;
use pumice_plan::{
    IoSlot, Level, Placement, PlanValue, Program, RegionKind, Span, Step, Use, VersionId, VersionOrigin,
};
use pumice_types::{Bytes, Target};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;

/// A placed program and what it takes.
pub struct PlacedProgram {
    /// The program.
    pub program: Program,
    /// End of the scratch it uses.
    pub scratch: u64,
    /// Least scratch its levels allow.
    pub scratch_lower_bound: u64,
    /// The same where no step waits.
    pub scratch_earliest: u64,
    /// Barriers it would have with every value in its own bytes.
    pub barriers_unlimited: u32,
}

/// What placing needs to know.
pub struct PlaceCx<'a> {
    /// Where states, inputs and outputs are.
    pub interface: &'a Interface,
    /// Where params and constants are.
    pub weights: &'a Weights,
    /// Where derived weights are, by buffer index.
    pub derived: &'a [Option<Span>],
    /// Bytes of frame and status.
    pub frame_bytes: u64,
    /// Rows of found words of the frame.
    pub found: &'a [FoundRow],
    /// Bytes of the status block.
    pub status_bytes: u64,
    /// The target.
    pub target: &'a Target,
    /// The options.
    pub options: &'a Options,
}

impl PlaceCx<'_> {
    /// The fixed span of a storage class, where it has one. A specialization uses the front of an io slot of so many
    /// bytes, which is sized for every binding.
    fn span(&self, class: StorageClass, bytes: u64) -> Option<Span> {
        let front = |slots: &[IoSlot], i: u32| {
            let span = slots.get(i as usize)?.span;
            Some(Span { len: Bytes(span.len.0.min(bytes)), ..span })
        };
        let of = |spans: &[Span], i: u32| spans.get(i as usize).copied();
        match class {
            StorageClass::Param(i) => of(&self.weights.params, i),
            StorageClass::Joined(i) => of(&self.weights.joined, i),
            StorageClass::Constant(i) => of(&self.weights.constants, i),
            StorageClass::State(i) => self.interface.states.get(i as usize).map(|s| s.span),
            StorageClass::Input(i) => front(&self.interface.inputs, i),
            StorageClass::Output(i) => front(&self.interface.outputs, i),
            _ => None,
        }
    }
}

/// Schedules and places the steps.
pub fn place(
    unplaced: UnplacedProgram,
    io: &mut RunIo,
    cx: &PlaceCx<'_>,
) -> Result<PlacedProgram, CompileError> {
    let loop_of = loops::of_steps(&unplaced, &|_| SmallVec::new());
    let (levels, scratch_earliest) = schedule(&unplaced, &loop_of, cx)
        .ok_or_else(|| CompileError::Defect("steps depend in a circle".into()))?;
    let turns = turns(&unplaced, &loop_of, &levels);
    let lives = lives(&unplaced, &levels, &turns);
    let fixed = fixed_spans(&unplaced, &lives, io, cx)?;
    let shared = match cx.options.placement {
        Placement::Packed => reuse::pairs(&unplaced, &levels),
        Placement::Bump => Vec::new(),
    };
    let requests = Requests::of(&unplaced, &lives, &shared);
    let (spans, scratch, scratch_lower_bound) =
        scratch_spans(&unplaced, &requests, &fixed, cx.options.placement, cx);
    let requests = Requests::of(&unplaced, &lives, &[]);
    let (apart, ..) = scratch_spans(&unplaced, &requests, &fixed, Placement::Bump, cx);
    let buffers: Vec<u32> = unplaced.versions.iter().map(|c| c.buffer.0).collect();
    let mut program = assemble(unplaced, &levels, &spans, &lives, &turns)?;
    // With every value in its own bytes, for the number of barriers that would need.
    let apart = |u: &Use| {
        let buffer = buffers[u.content.0 as usize] as usize;
        relocated(u.span, spans[buffer], apart[buffer])
    };
    let (steps, segments) = (&program.steps, &program.segments);
    let barriers_unlimited = match cx.options.barriers {
        Barriers::Elided => hazard::elided(steps, &mut program.levels, segments, apart),
        Barriers::Naive => {
            let mut elided = program.levels.clone();
            hazard::naive(steps, &mut program.levels, segments);
            hazard::elided(steps, &mut elided, segments, apart)
        }
    };
    Ok(PlacedProgram { program, scratch, scratch_lower_bound, scratch_earliest, barriers_unlimited })
}

/// A level costs less than keeping a buffer of this share of the most bytes that are alive at once.
const WORTH_A_LEVEL: u64 = 8;

/// The levels of which the fewest bytes are alive at once: the earliest ones, or those in which steps with slack wait;
/// and how many are with the earliest. `None` where steps depend on each other in a circle.
fn schedule(
    unplaced: &UnplacedProgram,
    loop_of: &[Option<u32>],
    cx: &PlaceCx<'_>,
) -> Option<(order::Levels, u64)> {
    let packed = cx.options.placement == Placement::Packed;
    let alive = |levels: &order::Levels| {
        let lives = lives(unplaced, levels, &turns(unplaced, loop_of, levels));
        let shared = if packed { reuse::pairs(unplaced, levels) } else { Vec::new() };
        arena::lower_bound(&Requests::of(unplaced, &lives, &shared).all, cx.options.guard_bytes)
    };
    let (mut earliest, mut after) = order::levels(unplaced, loop_of, &BTreeMap::new())?;
    let mut most = alive(&earliest);
    let waits = match packed {
        true => reuse::worth_waiting(unplaced, &earliest, most / WORTH_A_LEVEL),
        false => BTreeMap::new(),
    };
    if !waits.is_empty()
        && let Some((levels, edges)) = order::levels(unplaced, loop_of, &waits)
        && alive(&levels) < most
    {
        (earliest, after) = (levels, edges);
        most = alive(&earliest);
    }
    let later = slack::later(unplaced, &earliest, &after, loop_of);
    Some(match later.filter(|later| alive(later) < most) {
        Some(later) => (later, most),
        None => (earliest, most),
    })
}

/// Where a row lies.
fn row_span(row: &FoundRow) -> Span {
    Span::new(RegionKind::Frame, Bytes(4 * u64::from(row.first)), Bytes(4 * u64::from(row.len)))
}

/// The levels of each loop that has steps, with the loop.
fn turns(
    unplaced: &UnplacedProgram,
    loop_of: &[Option<u32>],
    levels: &order::Levels,
) -> Vec<(Range<u32>, UnplacedLoop)> {
    let mut turns: Vec<(Range<u32>, u32)> = Vec::new();
    for (level, members) in (0u32..).zip(levels.iter()) {
        let Some(l) = members.first().and_then(|&i| loop_of.get(i as usize).copied().flatten()) else {
            continue;
        };
        match turns.last_mut() {
            Some((range, last)) if *last == l && range.end == level => range.end = level + 1,
            _ => turns.push((level..level + 1, l)),
        }
    }
    turns.into_iter().map(|(range, l)| (range, unplaced.loops[l as usize].clone())).collect()
}

/// First and last level that touches each buffer. What is there before a loop and read by a turn is read by the next
/// turn, too.
fn lives(
    unplaced: &UnplacedProgram,
    levels: &order::Levels,
    turns: &[(Range<u32>, UnplacedLoop)],
) -> Vec<Option<(u32, u32)>> {
    let mut lives: Vec<Option<(u32, u32)>> = vec![None; unplaced.buffers.len()];
    for (level, members) in levels.iter().enumerate() {
        let level = level as u32;
        for u in members.iter().flat_map(|&i| &unplaced.steps[i as usize].uses) {
            let buffer = unplaced.versions[u.version.0 as usize].buffer.0 as usize;
            let (first, _) = lives[buffer].unwrap_or((level, level));
            lives[buffer] = Some((first, level));
        }
    }
    for (turn, _) in turns {
        for life in
            lives.iter_mut().flatten().filter(|(first, last)| *first < turn.start && turn.contains(last))
        {
            life.1 = turn.end - 1;
        }
    }
    lives
}

fn fixed_spans(
    unplaced: &UnplacedProgram,
    lives: &[Option<(u32, u32)>],
    io: &mut RunIo,
    cx: &PlaceCx<'_>,
) -> Result<Vec<Option<Span>>, CompileError> {
    let whole = |region, bytes| Span::new(region, Bytes::ZERO, Bytes(bytes));
    let mut spans = vec![None; unplaced.buffers.len()];
    for (i, b) in unplaced.buffers.iter().enumerate() {
        spans[i] = match b.class {
            StorageClass::Scratch | StorageClass::Streamed(_) => None,
            StorageClass::Frame => Some(whole(RegionKind::Frame, cx.frame_bytes)),
            StorageClass::Found(row) => cx.found.get(row as usize).map(row_span),
            StorageClass::Status => Some(whole(RegionKind::Status, cx.status_bytes)),
            StorageClass::HostOperand | StorageClass::HostResult if lives[i].is_some() => {
                Some(io.take(b.class == StorageClass::HostOperand, b.bytes))
            }
            StorageClass::HostOperand | StorageClass::HostResult => Some(whole(b.class.region(), 0)),
            StorageClass::Derived => cx.derived.get(i).copied().flatten(),
            class => cx.span(class, b.bytes),
        };
        let placed = spans[i].is_some()
            || b.class.region() == RegionKind::Scratch
            || (b.class == StorageClass::Derived && lives[i].is_none());
        if !placed {
            let name = unplaced.name_of(BufferId(i as u32));
            return Err(CompileError::Defect(format!("buffer {name} has no place")));
        }
    }
    Ok(spans)
}

/// What the arena is asked for.
struct Requests {
    /// One for each place.
    all: Vec<ArenaRequest>,
    /// By buffer of the arena that lives, its number and the place.
    buffers: Vec<(usize, usize)>,
}

impl Requests {
    /// Of the buffers of the arena; those of a pair share a place, which lives as long as both.
    fn of(
        unplaced: &UnplacedProgram,
        lives: &[Option<(u32, u32)>],
        pairs: &[(BufferId, BufferId)],
    ) -> Requests {
        let mut place_of: Vec<Option<usize>> = vec![None; unplaced.buffers.len()];
        // A step that gives comes before one that takes what it gave.
        let mut first: Vec<usize> = (0..unplaced.buffers.len()).collect();
        pairs.iter().for_each(|(from, to)| first[to.0 as usize] = first[from.0 as usize]);
        let mut requests = Requests { all: Vec::new(), buffers: Vec::new() };
        for (i, (from, to)) in in_arena(unplaced, lives) {
            let place = *place_of[first[i]].get_or_insert(requests.all.len());
            match requests.all.get_mut(place) {
                Some(r) => (r.first, r.last) = (r.first.min(from), r.last.max(to)),
                None => {
                    let bytes = unplaced.buffers[i].bytes;
                    requests.all.push(ArenaRequest { bytes, first: from, last: to });
                }
            }
            requests.buffers.push((i, place));
        }
        requests
    }
}

/// The buffers of the arena that live, and when.
fn in_arena<'a>(
    unplaced: &'a UnplacedProgram,
    lives: &'a [Option<(u32, u32)>],
) -> impl Iterator<Item = (usize, (u32, u32))> + 'a {
    let end = lives.iter().flatten().map(|life| life.1).max().unwrap_or(0);
    let life = move |i: usize| match unplaced.buffers[i].class {
        StorageClass::Scratch => lives[i],
        // It is there before the first step.
        StorageClass::Streamed(_) => Some((0, end)),
        _ => None,
    };
    (0..unplaced.buffers.len()).filter_map(move |i| Some((i, life(i)?)))
}

fn scratch_spans(
    unplaced: &UnplacedProgram,
    requests: &Requests,
    fixed: &[Option<Span>],
    policy: Placement,
    cx: &PlaceCx<'_>,
) -> (Vec<Option<Span>>, u64, u64) {
    let guard = cx.options.guard_bytes;
    let placed = arena::place(&requests.all, policy, chunk_size(cx.target), guard);
    let mut spans = fixed.to_vec();
    for &(buffer, place) in &requests.buffers {
        let bytes = Bytes(unplaced.buffers[buffer].bytes);
        spans[buffer] = Some(Span::new(RegionKind::Scratch, Bytes(placed.offsets[place]), bytes));
    }
    (spans, placed.size, arena::lower_bound(&requests.all, guard))
}

fn assemble(
    mut unplaced: UnplacedProgram,
    levels: &order::Levels,
    spans: &[Option<Span>],
    lives: &[Option<(u32, u32)>],
    turns: &[(Range<u32>, UnplacedLoop)],
) -> Result<Program, CompileError> {
    let versions = (0..unplaced.versions.len() as u32).map(UnplacedVersion);
    let origins: Vec<VersionOrigin> = versions.map(|c| origin(&unplaced, c)).collect();
    arrange(&mut unplaced.steps, levels.order());
    let buffer = |c: UnplacedVersion| unplaced.versions[c.0 as usize].buffer.0 as usize;
    // Steps of both kinds are equally large, so that these stay where they are.
    let steps = unplaced.steps.into_iter().map(|step| placed_step(step, |c| spans[buffer(c)]));
    let mut program = Program { steps: steps.collect::<Result<_, _>>()?, ..Program::default() };
    let ranges = levels.ranges().map(|steps| Level { steps, barrier: None, reason: None });
    program.levels.extend(ranges);
    program.segments = segment::segments(&program.steps, &program.levels, turns);
    let values = unplaced.versions.into_iter().zip(origins).map(|(c, origin)| {
        let buffer = c.buffer.0 as usize;
        let nowhere = Span::new(RegionKind::Scratch, Bytes::ZERO, Bytes::ZERO);
        PlanValue {
            name: c.name,
            origin,
            encoding: c.ty.encoding,
            shape: c.ty.shape,
            span: spans[buffer].unwrap_or(nowhere),
            live: lives[buffer],
        }
    });
    program.values = values.collect();
    Ok(program)
}

fn placed_step(
    step: UnplacedStep,
    span: impl Fn(UnplacedVersion) -> Option<Span>,
) -> Result<Step, CompileError> {
    let UnplacedStep { kind, uses, origin, reason, meaning, cost, when, waits: _, counted: _ } = step;
    let uses = uses.into_iter().map(|u| {
        let whole = span(u.version)
            .ok_or_else(|| CompileError::Defect(format!("{origin} touches bytes without a place")))?;
        let span = match u.part {
            None => whole,
            Some((start, len)) => Span { offset: whole.offset + Bytes(start), len: Bytes(len), ..whole },
        };
        Ok(Use { span, access: u.access, content: VersionId(u.version.0), view: u.view })
    });
    let uses = uses.collect::<Result<_, CompileError>>()?;
    Ok(Step { kind, uses, origin, reason, meaning, cost, when })
}

/// Puts the items in that order, without a second list of them: the item `order[i]` comes to `i`.
fn arrange<T>(items: &mut [T], order: &[u32]) {
    let mut order = order.to_vec();
    for first in 0..order.len() {
        let mut at = first;
        loop {
            let from = std::mem::replace(&mut order[at], at as u32) as usize;
            if from == first {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

/// What a version's bytes come from, for the plan's list of values.
fn origin(unplaced: &UnplacedProgram, version: UnplacedVersion) -> VersionOrigin {
    let c = &unplaced.versions[version.0 as usize];
    match unplaced.buffer_of(version).class {
        StorageClass::Param(i) | StorageClass::Streamed(i) => VersionOrigin::Param(i),
        StorageClass::Joined(i) => VersionOrigin::Joined(i),
        StorageClass::Constant(i) => VersionOrigin::Constant(i),
        StorageClass::Derived => VersionOrigin::Derived,
        StorageClass::State(i) if c.replaces.is_none() => VersionOrigin::StateBefore(i),
        StorageClass::State(i) if unplaced.carried.contains(&version) => VersionOrigin::StateCarried(i),
        StorageClass::State(i) => of_loop(unplaced, version).unwrap_or(VersionOrigin::StateAfter(i)),
        StorageClass::Input(i) => VersionOrigin::Input(i),
        StorageClass::Frame => VersionOrigin::Frame,
        StorageClass::Found(row) => VersionOrigin::Found(row),
        StorageClass::Status => VersionOrigin::Status,
        StorageClass::Scratch if unplaced.carried.contains(&version) => VersionOrigin::Carried,
        StorageClass::Scratch => of_loop(unplaced, version).unwrap_or(VersionOrigin::Step),
        StorageClass::Output(_) | StorageClass::HostOperand | StorageClass::HostResult => VersionOrigin::Step,
    }
}

/// What a version is to the turns of a loop, if it is anything to them.
fn of_loop(unplaced: &UnplacedProgram, version: UnplacedVersion) -> Option<VersionOrigin> {
    let mut carried = unplaced.loops.iter().flat_map(|l| &l.carried);
    carried.find_map(|[before, next, left]| match version {
        v if v == *next => Some(VersionOrigin::Next(VersionId(before.0))),
        v if v == *left => Some(VersionOrigin::Left(VersionId(before.0))),
        _ => None,
    })
}

/// Bytes of a buffer that lies in another place.
fn relocated(span: Span, from: Option<Span>, to: Option<Span>) -> Span {
    match (from, to) {
        (Some(from), Some(to)) => Span { offset: Bytes(to.offset.0 + span.offset.0 - from.offset.0), ..span },
        _ => span,
    }
}

#[cfg(test)]
mod tests {
    use super::arrange;

    #[test]
    fn items_come_to_their_places() {
        let mut items = ["a", "b", "c", "d", "e"];
        arrange(&mut items, &[3, 1, 4, 2, 0]);
        assert_eq!(items, ["d", "b", "e", "c", "a"]);
    }
}
