//! From steps over buffers to a program over spans: levels, lives, places, segments, barriers.

use crate::arena::{self, ArenaRequest};
use crate::draft::{BufferId, Draft, DraftContent, DraftStep, Home};
use crate::error::CompileError;
use crate::interface::{Interface, RunIo};
use crate::layout::chunk_size;
use crate::options::{Barriers, Options};
use crate::weights::Weights;
use crate::{hazard, order, segment};
use pumice_plan::{
    ContentId, ContentOrigin, IoSlot, Level, Placement, PlanValue, Program, RegionKind, Span, Step, Use,
};
use pumice_types::{Bytes, Target};

/// A placed program and what it takes.
pub struct PlacedProgram {
    /// The program.
    pub program: Program,
    /// End of the scratch it uses.
    pub scratch: u64,
    /// Least scratch its levels allow.
    pub scratch_lower_bound: u64,
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
    /// Bytes of the status block.
    pub status_bytes: u64,
    /// The target.
    pub target: &'a Target,
    /// The options.
    pub options: &'a Options,
}

impl PlaceCx<'_> {
    /// The fixed span of a home, where it has one. A specialization uses the front of an io slot of so many bytes,
    /// which is sized for every binding.
    fn span(&self, home: Home, bytes: u64) -> Option<Span> {
        let front = |slots: &[IoSlot], i: u32| {
            let span = slots.get(i as usize)?.span;
            Some(Span { len: Bytes(span.len.0.min(bytes)), ..span })
        };
        let of = |spans: &[Span], i: u32| spans.get(i as usize).copied();
        match home {
            Home::Param(i) => of(&self.weights.params, i),
            Home::Joined(i) => of(&self.weights.joined, i),
            Home::Constant(i) => of(&self.weights.constants, i),
            Home::State(i) => self.interface.states.get(i as usize).map(|s| s.span),
            Home::Input(i) => front(&self.interface.inputs, i),
            Home::Output(i) => front(&self.interface.outputs, i),
            _ => None,
        }
    }
}

/// Schedules and places the steps.
pub fn place(draft: Draft, io: &mut RunIo, cx: &PlaceCx<'_>) -> Result<PlacedProgram, CompileError> {
    let levels =
        order::levels(&draft).ok_or_else(|| CompileError::Defect("steps depend in a circle".into()))?;
    let lives = lives(&draft, &levels);
    let fixed = fixed_spans(&draft, &lives, io, cx)?;
    let (spans, scratch, scratch_lower_bound) =
        scratch_spans(&draft, &lives, &fixed, cx.options.placement, cx);
    let (apart, ..) = scratch_spans(&draft, &lives, &fixed, Placement::Bump, cx);
    let buffers: Vec<u32> = draft.contents.iter().map(|c| c.buffer.0).collect();
    let mut program = assemble(draft, &levels, &spans, &lives)?;
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
    Ok(PlacedProgram { program, scratch, scratch_lower_bound, barriers_unlimited })
}

/// First and last level that touches each buffer.
fn lives(draft: &Draft, levels: &order::Levels) -> Vec<Option<(u32, u32)>> {
    let mut lives: Vec<Option<(u32, u32)>> = vec![None; draft.buffers.len()];
    for (level, members) in levels.iter().enumerate() {
        let level = level as u32;
        for u in members.iter().flat_map(|&i| &draft.steps[i as usize].uses) {
            let buffer = draft.contents[u.content.0 as usize].buffer.0 as usize;
            let (first, _) = lives[buffer].unwrap_or((level, level));
            lives[buffer] = Some((first, level));
        }
    }
    lives
}

fn fixed_spans(
    draft: &Draft,
    lives: &[Option<(u32, u32)>],
    io: &mut RunIo,
    cx: &PlaceCx<'_>,
) -> Result<Vec<Option<Span>>, CompileError> {
    let whole = |region, bytes| Span::new(region, Bytes::ZERO, Bytes(bytes));
    let mut spans = vec![None; draft.buffers.len()];
    for (i, b) in draft.buffers.iter().enumerate() {
        spans[i] = match b.home {
            Home::Scratch | Home::Streamed(_) => None,
            Home::Frame => Some(whole(RegionKind::Frame, cx.frame_bytes)),
            Home::Status => Some(whole(RegionKind::Status, cx.status_bytes)),
            Home::HostOperand | Home::HostResult if lives[i].is_some() => {
                Some(io.take(b.home == Home::HostOperand, b.bytes))
            }
            Home::HostOperand | Home::HostResult => Some(whole(b.home.region(), 0)),
            Home::Derived => cx.derived.get(i).copied().flatten(),
            home => cx.span(home, b.bytes),
        };
        let placed = spans[i].is_some()
            || b.home.region() == RegionKind::Scratch
            || (b.home == Home::Derived && lives[i].is_none());
        if !placed {
            let name = draft.name_of(BufferId(i as u32));
            return Err(CompileError::Defect(format!("buffer {name} has no place")));
        }
    }
    Ok(spans)
}

fn scratch_spans(
    draft: &Draft,
    lives: &[Option<(u32, u32)>],
    fixed: &[Option<Span>],
    policy: Placement,
    cx: &PlaceCx<'_>,
) -> (Vec<Option<Span>>, u64, u64) {
    let end = lives.iter().flatten().map(|life| life.1).max().unwrap_or(0);
    let wanted: Vec<(usize, ArenaRequest)> = (draft.buffers.iter().enumerate())
        .filter_map(|(i, b)| {
            let (first, last) = match b.home {
                Home::Scratch => lives[i]?,
                // It is there before the first step.
                Home::Streamed(_) => (0, end),
                _ => return None,
            };
            Some((i, ArenaRequest { bytes: b.bytes, first, last }))
        })
        .collect();
    let requests: Vec<ArenaRequest> = wanted.iter().map(|w| w.1).collect();
    let placed = arena::place(&requests, policy, chunk_size(cx.target), cx.options.guard_bytes);
    let mut spans = fixed.to_vec();
    for (&(i, r), &offset) in wanted.iter().zip(&placed.offsets) {
        spans[i] = Some(Span::new(RegionKind::Scratch, Bytes(offset), Bytes(r.bytes)));
    }
    (spans, placed.size, arena::lower_bound(&requests, cx.options.guard_bytes))
}

fn assemble(
    mut draft: Draft,
    levels: &order::Levels,
    spans: &[Option<Span>],
    lives: &[Option<(u32, u32)>],
) -> Result<Program, CompileError> {
    let contents = (0..draft.contents.len() as u32).map(DraftContent);
    let origins: Vec<ContentOrigin> = contents.map(|c| origin(&draft, c)).collect();
    arrange(&mut draft.steps, levels.order());
    let buffer = |c: DraftContent| draft.contents[c.0 as usize].buffer.0 as usize;
    // Steps of both kinds are equally large, so that these stay where they are.
    let steps = draft.steps.into_iter().map(|step| placed_step(step, |c| spans[buffer(c)]));
    let mut program = Program { steps: steps.collect::<Result<_, _>>()?, ..Program::default() };
    let ranges = levels.ranges().map(|steps| Level { steps, barrier: None, reason: None });
    program.levels.extend(ranges);
    program.segments = segment::segments(&program.steps, &program.levels);
    let values = draft.contents.into_iter().zip(origins).map(|(c, origin)| {
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

fn placed_step(step: DraftStep, span: impl Fn(DraftContent) -> Option<Span>) -> Result<Step, CompileError> {
    let DraftStep { kind, uses, origin, reason, meaning, cost } = step;
    let uses = uses.into_iter().map(|u| {
        let whole = span(u.content)
            .ok_or_else(|| CompileError::Defect(format!("{origin} touches bytes without a place")))?;
        let span = match u.part {
            None => whole,
            Some((start, len)) => Span { offset: whole.offset + Bytes(start), len: Bytes(len), ..whole },
        };
        Ok(Use { span, access: u.access, content: ContentId(u.content.0), view: u.view })
    });
    let uses = uses.collect::<Result<_, CompileError>>()?;
    Ok(Step { kind, uses, origin, reason, meaning, cost })
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

/// What a content's bytes come from, for the plan's list of values.
fn origin(draft: &Draft, content: DraftContent) -> ContentOrigin {
    let c = &draft.contents[content.0 as usize];
    match draft.buffer_of(content).home {
        Home::Param(i) | Home::Streamed(i) => ContentOrigin::Param(i),
        Home::Joined(i) => ContentOrigin::Joined(i),
        Home::Constant(i) => ContentOrigin::Constant(i),
        Home::Derived => ContentOrigin::Derived,
        Home::State(i) if c.replaces.is_none() => ContentOrigin::StateBefore(i),
        Home::State(i) => ContentOrigin::StateAfter(i),
        Home::Input(i) => ContentOrigin::Input(i),
        Home::Frame => ContentOrigin::Frame,
        Home::Status => ContentOrigin::Status,
        Home::Scratch | Home::Output(_) | Home::HostOperand | Home::HostResult => ContentOrigin::Step,
    }
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
