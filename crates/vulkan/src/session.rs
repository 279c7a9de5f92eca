//! One session: its regions, its recordings, and how they are replayed.
//!
//! A run is recorded when it is first replayed and never again. Everything waits before it returns, so the host may
//! touch inputs, outputs and frame between runs.

use crate::loaded::{ProgramRef, VulkanLoaded};
use crate::memory::Regions;
use crate::profile::{Bracket, Timing, needs_timestamps};
use crate::raw::Commands;
use crate::record::{RecordScope, record};
use crate::submit::{RecordedSegment, Replays, lists_of};
use pumice_plan::{Plan, RegionKind, Segment, Span, StepId};
use pumice_runtime::device::{DeviceError, DeviceSession, StepTime};
use pumice_types::{Bindings, Bytes, DimExpr, ScalarId, SymbolTable, Var, When};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// Regions that belong to a session.
pub(crate) const SESSION_REGIONS: [RegionKind; 6] = [
    RegionKind::States,
    RegionKind::Scratch,
    RegionKind::IoIn,
    RegionKind::IoOut,
    RegionKind::Frame,
    RegionKind::Status,
];

/// A segment of a recorded program.
pub(crate) enum Recorded {
    /// Reusable lists.
    Gpu(Box<RecordedSegment>),
    /// A loop.
    Repeat {
        /// One turn of it.
        turn: Box<RecordedSegment>,
        /// Turns at most.
        turns: u32,
        /// How it ends.
        ends: Ends,
        /// The branches that its steps stand under: it does nothing where they are not taken.
        when: When,
    },
    /// Host steps of a level.
    Host {
        /// The level.
        level: u32,
    },
}

/// How a loop ends.
pub(crate) enum Ends {
    /// After so many turns.
    After(DimExpr),
    /// Where the device says so.
    Found {
        /// Turns that its next run is expected to take.
        expected: u32,
    },
}

/// Regions and recordings of one session.
pub(crate) struct VulkanSession {
    // Recordings go before the regions they refer to.
    recordings: Vec<Option<Vec<Recorded>>>,
    closing: Commands,
    regions: Arc<Regions>,
    loaded: Arc<VulkanLoaded>,
}

impl VulkanSession {
    /// Takes memory for everything a session owns.
    pub(crate) fn new(loaded: &Arc<VulkanLoaded>) -> Result<VulkanSession, DeviceError> {
        loaded.gpu.check()?;
        let regions: Vec<_> = SESSION_REGIONS.iter().filter_map(|&kind| loaded.plan.region(kind)).collect();
        let regions = Arc::new(Regions::new(&loaded.gpu, &regions)?);
        regions.poison(None)?;
        let recordings = loaded.plan.runs.iter().map(|_| None).collect();
        let closing = loaded.gpu.closing_list()?;
        Ok(VulkanSession { recordings, closing, regions, loaded: loaded.clone() })
    }

    fn record(&mut self, run: usize) -> Result<(), DeviceError> {
        if self.recordings.get(run).is_some_and(Option::is_none) {
            self.loaded.prepare_programs(&[ProgramRef::Run(run)], None)?;
            let scope = self.loaded.scope(ProgramRef::Run(run), &self.regions, None)?;
            let recorded = record_program(&scope, &self.loaded.symbols(ProgramRef::Run(run)))?;
            self.recordings[run] = Some(recorded);
        }
        Ok(())
    }

    /// Replays a run, between the timestamps of the bracket where there is one.
    fn replay(
        &mut self,
        run: usize,
        bindings: &Bindings,
        repeats: u32,
        bracket: Option<&Bracket>,
    ) -> Result<(), DeviceError> {
        let VulkanSession { recordings, closing, regions, loaded } = self;
        let recorded = recordings.get_mut(run).and_then(Option::as_mut);
        let recorded = recorded.ok_or_else(|| DeviceError::Unsupported(format!("run {run}")))?;
        let which = ProgramRef::Run(run);
        if let [Recorded::Gpu(segment)] = recorded.as_mut_slice() {
            let replays = Replays {
                gpu: &loaded.gpu,
                plan: &loaded.plan.name,
                times: repeats,
                bindings,
                advance: &|bindings| advance(&loaded.plan, run, bindings),
                poll: &|replays| loaded.poll_time(which, replays),
                closing,
                bracket,
                stop: loaded.stop_word(run).map(|span| (&**regions, span)),
            };
            return replays.run(segment);
        }
        let mut bindings = bindings.clone();
        for _ in 0..repeats {
            let scope = loaded.scope(which, regions, None)?;
            run_recorded(loaded, which, &scope, recorded, closing, &bindings)?;
            advance(&loaded.plan, run, &mut bindings);
        }
        Ok(())
    }
}

/// What a replay of a run does to the scalars in the frame, done to bindings.
fn advance(plan: &Plan, run: usize, bindings: &mut Bindings) {
    let (before, run) = (bindings.clone(), plan.runs.get(run));
    for id in (0u32..).map(ScalarId).take(plan.scalars.len()) {
        let by = run.and_then(|run| plan.advance_of(run, id)).and_then(|a| a.eval(&before).ok());
        if let (Some(value), Some(by)) = (before.get(Var::Scalar(id)), by) {
            bindings.bind_scalar(id, value.wrapping_add(by));
        }
    }
}

impl DeviceSession for VulkanSession {
    fn write(&mut self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        self.regions.write(span, bytes)
    }

    fn read(&mut self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.regions.read(span, bytes)
    }

    fn run(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<(), DeviceError> {
        self.loaded.gpu.check()?;
        self.record(run)?;
        self.regions.poison(Some(RegionKind::Scratch))?;
        self.replay(run, bindings, repeats, None)?;
        self.regions.check_guards()
    }

    fn run_timed(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<f64, DeviceError> {
        let gpu = &self.loaded.gpu.clone();
        gpu.check()?;
        self.record(run)?;
        self.regions.poison(Some(RegionKind::Scratch))?;
        let recorded = self.recordings.get(run).and_then(Option::as_deref).unwrap_or(&[]);
        if !matches!(recorded, [Recorded::Gpu(_)]) {
            let begin = Instant::now();
            self.replay(run, bindings, repeats, None)?;
            return Ok(begin.elapsed().as_secs_f64() * 1e6);
        }
        let bracket = Bracket::new(gpu)?;
        self.replay(run, bindings, repeats, Some(&bracket))?;
        self.regions.check_guards()?;
        bracket.us(gpu)
    }

    fn run_profiled(&mut self, run: usize, bindings: &Bindings) -> Result<Vec<StepTime>, DeviceError> {
        self.loaded.gpu.check()?;
        profile(&self.loaded, run, &self.regions, &self.closing, bindings)
    }

    fn fork(&mut self) -> Result<Box<dyn DeviceSession>, DeviceError> {
        let forked = VulkanSession::new(&self.loaded)?;
        forked.regions.copy_from(&self.regions, RegionKind::States)?;
        Ok(Box::new(forked))
    }
}

/// Records the segments of a program. `symbols` have the ranges that it is for.
pub(crate) fn record_program(
    scope: &RecordScope<'_>,
    symbols: &SymbolTable,
) -> Result<Vec<Recorded>, DeviceError> {
    let segments = scope.program.segments.iter().map(|segment| match segment {
        Segment::Gpu { levels } => {
            RecordedSegment::record(scope, levels.clone(), symbols).map(|s| Recorded::Gpu(Box::new(s)))
        }
        Segment::Repeat { levels, turns, count, .. } => {
            let turn = RecordedSegment::record(scope, levels.clone(), symbols).map(Box::new)?;
            let ends = count.clone().map_or(Ends::Found { expected: FEW_TURNS }, Ends::After);
            Ok(Recorded::Repeat { turn, turns: *turns, ends, when: scope.program.turn_when(levels) })
        }
        Segment::Host { level } => Ok(Recorded::Host { level: *level }),
    });
    segments.collect()
}

/// Turns of a loop that are submitted together at least.
const FEW_TURNS: u32 = 16;

/// Takes the turns of a loop.
fn take_turns(
    replays: &Replays<'_>,
    scope: &RecordScope<'_>,
    (turn, turns, when): (&mut RecordedSegment, u32, &When),
    ends: &mut Ends,
) -> Result<(), DeviceError> {
    let taken = || {
        let unknown = |e| DeviceError::Unsupported(format!("a choice of a loop: {e}"));
        let found = as_found(scope, replays.bindings)?;
        when.holds(&found).map_err(unknown)
    };
    match ends {
        Ends::After(count) => {
            let unknown = |e| DeviceError::Unsupported(format!("turns of a loop: {e}"));
            let times = Segment::counted_turns(count, turns, replays.bindings).map_err(unknown)?;
            match times > 0 && (when.is_always() || taken()?) {
                true => Replays { times, ..*replays }.run(turn),
                false => Ok(()),
            }
        }
        Ends::Found { expected } => {
            let batch = |times| Replays { times, ..*replays }.run(turn).and_then(|()| taken());
            *expected = find_turns(batch, turns, *expected)?;
            Ok(())
        }
    }
}

/// Takes batches of turns until one says that there is no further one, or there are as many as may be: first as many
/// as are expected, then an eighth of that, and twice as many each time. A turn behind the end does nothing. Returns
/// how many to expect the next time: as many, or a little less where they were enough, so that what one run needed is
/// not taken for ever.
fn find_turns(
    mut batch: impl FnMut(u32) -> Result<bool, DeviceError>,
    turns: u32,
    expected: u32,
) -> Result<u32, DeviceError> {
    let (mut left, mut times) = (turns, expected);
    let mut next = (expected / 8).max(FEW_TURNS);
    while left > 0 {
        times = times.min(left);
        left -= times;
        if !batch(times)? {
            break;
        }
        (times, next) = (next, next.saturating_mul(2));
    }
    let taken = turns - left;
    Ok(if taken <= expected { (taken - taken / 8).max(FEW_TURNS) } else { taken })
}

/// Runs segments once, waiting where the host takes over.
pub(crate) fn run_recorded(
    loaded: &VulkanLoaded,
    which: ProgramRef,
    scope: &RecordScope<'_>,
    recorded: &mut [Recorded],
    closing: &Commands,
    bindings: &Bindings,
) -> Result<(), DeviceError> {
    let replays = Replays {
        gpu: &loaded.gpu,
        plan: &loaded.plan.name,
        times: 1,
        bindings,
        advance: &|_| {},
        poll: &|replays| loaded.poll_time(which, replays),
        closing,
        bracket: None,
        stop: None,
    };
    for one in recorded {
        match one {
            Recorded::Gpu(segment) => replays.run(segment)?,
            Recorded::Repeat { turn, turns, ends, when } => {
                take_turns(&replays, scope, (turn, *turns, when), ends)?;
            }
            Recorded::Host { level } => {
                run_host_level(loaded, which, scope, *level, bindings, &mut |_, _| {})?;
            }
        }
    }
    Ok(())
}

/// Bindings with the symbols that the run has found so far.
fn as_found<'b>(scope: &RecordScope<'_>, bindings: &'b Bindings) -> Result<Cow<'b, Bindings>, DeviceError> {
    let mut bindings = Cow::Borrowed(bindings);
    let Some(frame) = scope.frame.filter(|f| !f.found.is_empty()) else { return Ok(bindings) };
    let mut bytes = vec![0; 4 * frame.base() as usize];
    let span = Span::new(RegionKind::Frame, Bytes::ZERO, Bytes(bytes.len() as u64));
    scope.session.read(span, &mut bytes)?;
    let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    frame.bound(0, &words).for_each(|(symbol, value)| bindings.to_mut().bind(symbol, value));
    Ok(bindings)
}

fn run_host_level(
    loaded: &VulkanLoaded,
    which: ProgramRef,
    scope: &RecordScope<'_>,
    level: u32,
    bindings: &Bindings,
    timed: &mut dyn FnMut(StepId, f64),
) -> Result<(), DeviceError> {
    let host = loaded.host_steps(which)?;
    let bindings = &as_found(scope, bindings)?;
    let steps = scope.program.levels.get(level as usize).map(|l| scope.program.steps_of(l));
    for (id, step) in steps.into_iter().flatten().filter(|(id, _)| scope.wants(*id)) {
        let unknown = |e| DeviceError::Unsupported(format!("a choice of {}: {e}", step.origin));
        if !step.when.holds(bindings).map_err(unknown)? {
            continue;
        }
        let begin = Instant::now();
        host.run(id, step, bindings, scope.session)?;
        timed(id, begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(())
}

/// Records a run anew with timestamps, runs it once, each list as a submission, and throws the recording away.
fn profile(
    loaded: &VulkanLoaded,
    run: usize,
    regions: &Arc<Regions>,
    closing: &Commands,
    bindings: &Bindings,
) -> Result<Vec<StepTime>, DeviceError> {
    let gpu = &loaded.gpu;
    needs_timestamps(gpu)?;
    loaded.prepare_programs(&[ProgramRef::Run(run)], None)?;
    let scope = loaded.scope(ProgramRef::Run(run), regions, None)?;
    let mut times = Vec::new();
    for segment in &scope.program.segments {
        match segment {
            // Of a loop one turn.
            Segment::Gpu { levels } | Segment::Repeat { levels, .. } => {
                let seam = scope.seam(levels.clone());
                for list in lists_of(&scope, levels.clone(), &loaded.symbols(ProgramRef::Run(run))) {
                    let mut timing = Timing::new(&gpu.shared, list.steps.len())?;
                    let commands = record(&scope, &list, seam, Some(&mut timing))?;
                    gpu.run(&[&commands, closing])?;
                    times.extend(timing.times(gpu)?);
                }
            }
            Segment::Host { level } => {
                let timed = &mut |step, us| times.push(StepTime { step, us });
                run_host_level(loaded, ProgramRef::Run(run), &scope, *level, bindings, timed)?;
            }
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The batches that a loop of so many turns takes, and how many it then expects.
    fn batches(needed: u32, most: u32, expected: u32) -> (Vec<u32>, u32) {
        let mut taken = Vec::new();
        let next = find_turns(
            |times| {
                taken.push(times);
                Ok(taken.iter().sum::<u32>() < needed)
            },
            most,
            expected,
        );
        (taken, next.expect("no batch fails"))
    }

    #[test]
    fn batches_follow_what_runs_need() {
        assert_eq!(batches(5, 100, FEW_TURNS), (vec![16], 16));
        assert_eq!(batches(100, 100, FEW_TURNS), (vec![16, 16, 32, 36], 100));
        assert_eq!(batches(100, 1 << 24, 100), (vec![100], 88));
        assert_eq!(batches(100, 1 << 24, 88), (vec![88, 16], 104));
        assert_eq!(batches(7, 7, 16), (vec![7], 16));
    }

    /// One long run is not paid for by all that come after it.
    #[test]
    fn what_one_run_needed_is_forgotten() {
        let mut expected = batches(1 << 20, 1 << 24, FEW_TURNS).1;
        for _ in 0..100 {
            expected = batches(3, 1 << 24, expected).1;
        }
        assert!(expected <= 2 * FEW_TURNS, "{expected}");
    }
}
