//! One session: its regions, its recordings, and how they are replayed.
//!
//! A run is recorded when it is first replayed and never again. Everything waits before it returns, so the host may
//! touch inputs, outputs and frame between runs.

use crate::loaded::{ProgramRef, VulkanLoaded};
use crate::loops::{LoopBounds, RecordedLoop};
use crate::memory::{Regions, check_available};
use crate::profile::{Bracket, Timing, needs_timestamps};
use crate::raw::Commands;
use crate::record::{RecordScope, record};
use crate::scratch::{Lease, Scratch};
use crate::submit::{RecordedSegment, Replays, lists_of};
use pumice_plan::{Plan, RegionKind, Segment, Span, StepId};
use pumice_runtime::Interrupt;
use pumice_runtime::device::{DeviceError, DeviceSession, StepTime};
use pumice_types::{Bindings, Bytes, ScalarId, SymbolTable, Var};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Regions that belong to a session alone. Scratch is lent to it.
pub(crate) const SESSION_REGIONS: [RegionKind; 5] =
    [RegionKind::States, RegionKind::IoIn, RegionKind::IoOut, RegionKind::Frame, RegionKind::Status];

/// A segment of a recorded program.
pub(crate) enum Recorded {
    /// Reusable lists.
    Gpu(Box<RecordedSegment>),
    /// A loop.
    Repeat(RecordedLoop),
    /// Host steps of a level.
    Host {
        /// The level.
        level: u32,
    },
}

/// Regions and recordings of one session.
pub(crate) struct VulkanSession {
    // Recordings go before the regions they refer to.
    recordings: Vec<Option<Vec<Recorded>>>,
    closing: Commands,
    /// With the scratch that the recordings name.
    regions: Arc<Regions>,
    /// None for a plan without scratch.
    scratch: Option<Arc<Scratch>>,
    loaded: Arc<VulkanLoaded>,
    interrupt: Interrupt,
}

impl VulkanSession {
    /// Takes memory for everything a session owns, and for scratch, if no other session has any.
    pub(crate) fn new(loaded: &Arc<VulkanLoaded>) -> Result<VulkanSession, DeviceError> {
        loaded.gpu.check()?;
        let own: Vec<_> = SESSION_REGIONS.iter().filter_map(|&kind| loaded.plan.region(kind)).collect();
        let all: Vec<_> = own.iter().copied().chain(loaded.scratch.lacks()).collect();
        check_available(&loaded.gpu, &all)?;
        let own = Regions::new(&loaded.gpu, &own)?;
        own.poison(None)?;
        let scratch = loaded.scratch.any(&loaded.gpu)?;
        let regions = Arc::new(scratch.iter().fold(own, |own, scratch| own.with(&scratch.memory)));
        let recordings = loaded.plan.runs.iter().map(|_| None).collect();
        let closing = loaded.gpu.closing_list()?;
        let (loaded, interrupt) = (Arc::clone(loaded), Interrupt::default());
        Ok(VulkanSession { recordings, closing, regions, scratch, loaded, interrupt })
    }

    /// What a run begins with: a device that is there, nobody who wants it to end, and scratch to itself.
    fn begin(&mut self) -> Result<Option<Lease>, DeviceError> {
        self.loaded.gpu.check()?;
        end_if_set(&self.interrupt)?;
        let Some(usual) = &self.scratch else { return Ok(None) };
        let lease = self.loaded.scratch.lend(&self.loaded.gpu, usual)?;
        if !Arc::ptr_eq(lease.scratch(), usual) {
            self.recordings.fill_with(|| None);
            self.regions = Arc::new(self.regions.with(&lease.scratch().memory));
            self.scratch = Some(Arc::clone(lease.scratch()));
        }
        self.regions.poison(Some(RegionKind::Scratch))?;
        Ok(Some(lease))
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
        let VulkanSession { recordings, closing, regions, loaded, interrupt, .. } = self;
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
                interrupt,
            };
            return replays.run(segment);
        }
        let mut bindings = bindings.clone();
        for _ in 0..repeats {
            let scope = loaded.scope(which, regions, None)?;
            run_recorded(loaded, which, &scope, recorded, (closing, interrupt), &bindings)?;
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

    fn clear(&mut self, span: Span) -> Result<(), DeviceError> {
        self.regions.clear(span)
    }

    fn run(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<(), DeviceError> {
        let _lease = self.begin()?;
        self.record(run)?;
        self.replay(run, bindings, repeats, None)?;
        self.regions.check_guards()
    }

    fn run_timed(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<f64, DeviceError> {
        let gpu = &self.loaded.gpu.clone();
        let _lease = self.begin()?;
        self.record(run)?;
        let recorded = self.recordings.get(run).and_then(Option::as_deref).unwrap_or(&[]);
        if !matches!(recorded, [Recorded::Gpu(_)]) {
            let begin = Instant::now();
            self.replay(run, bindings, repeats, None)?;
            let us = begin.elapsed().as_secs_f64() * 1e6;
            return self.regions.check_guards().map(|()| us);
        }
        let bracket = Bracket::new(gpu)?;
        self.replay(run, bindings, repeats, Some(&bracket))?;
        self.regions.check_guards()?;
        bracket.us(gpu)
    }

    fn run_profiled(&mut self, run: usize, bindings: &Bindings) -> Result<Vec<StepTime>, DeviceError> {
        needs_timestamps(&self.loaded.gpu)?;
        let _lease = self.begin()?;
        let (loaded, regions) = (&*self.loaded, &self.regions);
        let which = ProgramRef::Run(run);
        loaded.prepare_programs(&[which], None)?;
        let (scope, symbols) = (loaded.scope(which, regions, None)?, loaded.symbols(which));
        let (closing, interrupt, times) = (&self.closing, &self.interrupt, Vec::new());
        let mut profiled = Profiled { loaded, which, scope, symbols, closing, interrupt, bindings, times };
        for segment in profiled.scope.program.segments.iter() {
            profiled.run(segment)?;
        }
        regions.check_guards()?;
        Ok(profiled.times)
    }

    fn fork(&mut self, states: &[Span]) -> Result<Box<dyn DeviceSession>, DeviceError> {
        let forked = VulkanSession::new(&self.loaded)?;
        forked.regions.copy_from(&self.regions, states)?;
        Ok(Box::new(forked))
    }

    fn interrupt_by(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }
}

/// Whether somebody wants a run to end, as an error.
pub(crate) fn end_if_set(interrupt: &Interrupt) -> Result<(), DeviceError> {
    if interrupt.is_set() { Err(DeviceError::Interrupted) } else { Ok(()) }
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
        Segment::Repeat { levels, turns, running, count } => {
            let bounds = LoopBounds::of(scope, levels, *turns, *running, count.as_ref());
            RecordedLoop::record(scope, levels, bounds, symbols).map(Recorded::Repeat)
        }
        Segment::Host { level } => Ok(Recorded::Host { level: *level }),
    });
    segments.collect()
}

/// One replay of a segment, whatever was stopped.
fn once<'a>(
    loaded: &'a VulkanLoaded,
    bindings: &'a Bindings,
    poll: &'a dyn Fn(u32) -> Duration,
    (closing, interrupt): (&'a Commands, &'a Interrupt),
) -> Replays<'a> {
    let (gpu, plan) = (&*loaded.gpu, &*loaded.plan.name);
    let (times, advance) = (1, &|_: &mut Bindings| {});
    Replays { gpu, plan, times, bindings, advance, poll, closing, bracket: None, stop: None, interrupt }
}

/// Runs segments once, waiting where the host takes over.
pub(crate) fn run_recorded(
    loaded: &VulkanLoaded,
    which: ProgramRef,
    scope: &RecordScope<'_>,
    recorded: &mut [Recorded],
    (closing, interrupt): (&Commands, &Interrupt),
    bindings: &Bindings,
) -> Result<(), DeviceError> {
    let poll = |replays| loaded.poll_time(which, replays);
    let replays = once(loaded, bindings, &poll, (closing, interrupt));
    for one in recorded {
        end_if_set(interrupt)?;
        match one {
            Recorded::Gpu(segment) => replays.run(segment)?,
            Recorded::Repeat(repeated) => repeated.take_turns(&replays, scope, 0)?,
            Recorded::Host { level } => {
                run_host_level(loaded, which, scope, *level, bindings, &mut |_, _| {})?;
            }
        }
    }
    Ok(())
}

/// Bindings with the symbols that the run has found so far.
pub(crate) fn as_found<'b>(
    scope: &RecordScope<'_>,
    bindings: &'b Bindings,
) -> Result<Cow<'b, Bindings>, DeviceError> {
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

/// A run that is recorded anew with timestamps, run once, each list as a submission, and thrown away.
struct Profiled<'a> {
    loaded: &'a VulkanLoaded,
    which: ProgramRef,
    scope: RecordScope<'a>,
    symbols: SymbolTable,
    closing: &'a Commands,
    interrupt: &'a Interrupt,
    bindings: &'a Bindings,
    times: Vec<StepTime>,
}

impl Profiled<'_> {
    /// Runs a segment. Of a loop the first turn is timed, and the others are taken.
    fn run(&mut self, segment: &Segment) -> Result<(), DeviceError> {
        match segment {
            Segment::Gpu { levels } => self.time(levels),
            Segment::Repeat { levels, turns, running, count } => {
                let (loaded, which) = (self.loaded, self.which);
                let poll = |replays| loaded.poll_time(which, replays);
                let replays = once(loaded, self.bindings, &poll, (self.closing, self.interrupt));
                let bounds = LoopBounds::of(&self.scope, levels, *turns, *running, count.as_ref());
                if bounds.at_most(&replays, &self.scope)? == 0 {
                    return Ok(());
                }
                self.time(levels)?;
                let mut others = RecordedLoop::record(&self.scope, levels, bounds, &self.symbols)?;
                others.take_turns(&replays, &self.scope, 1)
            }
            Segment::Host { level } => {
                let times = &mut self.times;
                let timed = &mut |step, us| times.push(StepTime { step, us });
                run_host_level(self.loaded, self.which, &self.scope, *level, self.bindings, timed)
            }
        }
    }

    fn time(&mut self, levels: &Range<u32>) -> Result<(), DeviceError> {
        let gpu = &self.loaded.gpu;
        let seam = self.scope.seam(levels.clone());
        for list in lists_of(&self.scope, levels.clone(), &self.symbols) {
            let mut timing = Timing::new(&gpu.shared, list.steps.len())?;
            let commands = record(&self.scope, &list, seam, Some(&mut timing))?;
            gpu.run(&[&commands, self.closing])?;
            self.times.extend(timing.times(gpu)?);
        }
        Ok(())
    }
}
