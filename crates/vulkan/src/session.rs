//! One session: its regions, its recordings, and how they are replayed.
//!
//! A run is recorded when it is first replayed and never again. Everything waits before it returns, so the host may
//! touch inputs, outputs and frame between runs.

use crate::loaded::{ProgramRef, VulkanLoaded};
use crate::memory::Regions;
use crate::profile::{Bracket, Timing, needs_timestamps};
use crate::raw::Commands;
use crate::record::{RecordScope, record};
use pumice_plan::{Program, RegionKind, Segment, Span, StepId};
use pumice_runtime::device::{DeviceError, DeviceSession, StepTime};
use pumice_types::{Bindings, ScalarId, Var};
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
    /// A reusable list.
    Gpu(Commands),
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
            let recorded = record_program(&scope)?;
            self.recordings[run] = Some(recorded);
        }
        Ok(())
    }

    fn replay(&self, run: usize, bindings: &Bindings, repeats: u32) -> Result<(), DeviceError> {
        let recorded = self.recordings.get(run).and_then(Option::as_ref);
        let recorded = recorded.ok_or_else(|| DeviceError::Unsupported(format!("run {run}")))?;
        if let Some(lists) = without_host(recorded) {
            let poll = self.loaded.patience(ProgramRef::Run(run), repeats);
            return self.loaded.gpu.run_all(replays(&lists, repeats).chain([&self.closing]), poll);
        }
        let mut bindings = bindings.clone();
        for _ in 0..repeats {
            let which = ProgramRef::Run(run);
            let scope = self.loaded.scope(which, &self.regions, None)?;
            run_recorded(&self.loaded, which, &scope, recorded, &self.closing, &bindings)?;
            self.advance(&mut bindings);
        }
        Ok(())
    }

    /// What the recording did to the scalars in the frame, done to the bindings that host steps see.
    fn advance(&self, bindings: &mut Bindings) {
        let before = bindings.clone();
        for (id, scalar) in (0u32..).map(ScalarId).zip(&self.loaded.plan.scalars) {
            let by = scalar.advance.as_ref().and_then(|a| a.eval(&before).ok());
            if let (Some(value), Some(by)) = (before.get(Var::Scalar(id)), by) {
                bindings.bind_scalar(id, value.wrapping_add(by));
            }
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
        self.replay(run, bindings, repeats)?;
        self.regions.check_guards()
    }

    fn run_timed(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<f64, DeviceError> {
        let gpu = &self.loaded.gpu.clone();
        gpu.check()?;
        self.record(run)?;
        self.regions.poison(Some(RegionKind::Scratch))?;
        let recorded = self.recordings.get(run).and_then(Option::as_deref).unwrap_or(&[]);
        let Some(lists) = without_host(recorded) else {
            let begin = Instant::now();
            self.replay(run, bindings, repeats)?;
            return Ok(begin.elapsed().as_secs_f64() * 1e6);
        };
        let bracket = Bracket::new(gpu)?;
        let poll = self.loaded.patience(ProgramRef::Run(run), repeats);
        gpu.run_all(
            [&bracket.open].into_iter().chain(replays(&lists, repeats)).chain([&bracket.close]),
            poll,
        )?;
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

/// The lists of a recording; `None` where host steps stand between them.
fn without_host(recorded: &[Recorded]) -> Option<Vec<&Commands>> {
    let lists = recorded.iter().map(|one| match one {
        Recorded::Gpu(list) => Some(list),
        Recorded::Host { .. } => None,
    });
    lists.collect()
}

/// Lists so many times over.
fn replays<'a>(lists: &[&'a Commands], times: u32) -> impl Iterator<Item = &'a Commands> {
    std::iter::repeat_n(lists, times as usize).flatten().copied()
}

/// Records the segments of a program.
pub(crate) fn record_program(scope: &RecordScope<'_>) -> Result<Vec<Recorded>, DeviceError> {
    let mut recorded = Vec::new();
    for segment in &scope.program.segments {
        match segment {
            Segment::Gpu { levels } => recorded.push(Recorded::Gpu(record(scope, levels.clone(), None)?)),
            Segment::Host { level } => recorded.push(Recorded::Host { level: *level }),
        }
    }
    Ok(recorded)
}

/// Runs segments once, waiting where the host takes over.
pub(crate) fn run_recorded(
    loaded: &VulkanLoaded,
    which: ProgramRef,
    scope: &RecordScope<'_>,
    recorded: &[Recorded],
    closing: &Commands,
    bindings: &Bindings,
) -> Result<(), DeviceError> {
    let mut lists: Vec<&Commands> = Vec::new();
    let flush = |lists: &mut Vec<_>| {
        if lists.is_empty() {
            return Ok(());
        }
        lists.push(closing);
        let result = loaded.gpu.run_asking(lists, loaded.patience(which, 1));
        lists.clear();
        result
    };
    for one in recorded {
        match one {
            Recorded::Gpu(list) => lists.push(list),
            Recorded::Host { level } => {
                flush(&mut lists)?;
                run_host_level(loaded, which, scope, *level, bindings, &mut |_, _| {})?;
            }
        }
    }
    flush(&mut lists)
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
    let steps = scope.program.levels.get(level as usize).map(|l| scope.program.steps_of(l));
    for (id, step) in steps.into_iter().flatten().filter(|(id, _)| scope.wants(*id)) {
        let begin = Instant::now();
        host.run(id, step, bindings, scope.session)?;
        timed(id, begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(())
}

/// Records a run anew with timestamps, runs it once, and throws the recording away.
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
            Segment::Gpu { levels } => {
                let mut timing = Timing::new(&gpu.shared, steps_in(scope.program, levels.clone()))?;
                let list = record(&scope, levels.clone(), Some(&mut timing))?;
                gpu.run(&[&list, closing])?;
                times.extend(timing.times(gpu)?);
            }
            Segment::Host { level } => {
                let timed = &mut |step, us| times.push(StepTime { step, us });
                run_host_level(loaded, ProgramRef::Run(run), &scope, *level, bindings, timed)?;
            }
        }
    }
    Ok(times)
}

fn steps_in(program: &Program, levels: std::ops::Range<u32>) -> usize {
    let levels = program.levels.get(levels.start as usize..levels.end as usize).unwrap_or(&[]);
    levels.iter().map(|l| l.steps.len()).sum()
}
