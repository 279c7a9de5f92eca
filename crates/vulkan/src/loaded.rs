//! A plan on the device, with one copy of the weights.

use crate::gpu::Gpu;
use crate::host::HostSteps;
use crate::kernel_source::check_code;
use crate::memory::{Regions, check_available};
use crate::record::RecordScope;
use crate::scratch::ScratchPool;
use crate::session::{SESSION_REGIONS, VulkanSession, record_program, run_recorded};
use pumice_plan::{CheckedPlan, FrameSlot, Program, RegionKind, Span, StepId, Stream};
use pumice_runtime::Interrupt;
use pumice_runtime::device::{DeviceError, DeviceSession, FillWeights, HostOps, Loaded};
use pumice_types::{Bindings, Bytes, SymbolTable};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Which program of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramRef {
    /// The load program.
    Load,
    /// One of the streams.
    Stream(usize),
    /// One of the runs.
    Run(usize),
}

/// A loaded plan.
pub(crate) struct VulkanLoaded {
    pub(crate) plan: CheckedPlan,
    pub(crate) gpu: Arc<Gpu>,
    weights: Arc<Regions>,
    /// What runs lend each other.
    pub(crate) scratch: ScratchPool,
    load_host: HostSteps,
    run_host: Vec<HostSteps>,
}

impl VulkanLoaded {
    /// Prepares the host steps and takes memory for the weights, if one session fits after them.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        plan: CheckedPlan,
        host: &dyn HostOps,
    ) -> Result<VulkanLoaded, DeviceError> {
        gpu.check()?;
        check_code(&plan, gpu.pipelines.source())?;
        let load_host = HostSteps::prepare(&plan, &plan.load, host)?;
        let run_host = plan
            .runs
            .iter()
            .map(|r| HostSteps::prepare(&plan, &r.program, host))
            .collect::<Result<_, _>>()?;
        let all: Vec<_> = RegionKind::ALL.iter().filter_map(|&kind| plan.region(kind)).collect();
        check_available(gpu, &all)?;
        let weights: Vec<_> = plan.region(RegionKind::Weights).into_iter().collect();
        let weights = Arc::new(Regions::new(gpu, &weights)?);
        weights.poison(None)?;
        let scratch = ScratchPool::new(&plan);
        Ok(VulkanLoaded { plan, gpu: gpu.clone(), weights, scratch, load_host, run_host })
    }

    fn program(&self, which: ProgramRef) -> Result<&Program, DeviceError> {
        match which {
            ProgramRef::Load => Ok(&self.plan.load),
            ProgramRef::Stream(i) => self.stream_at(i).map(|s| &s.program),
            ProgramRef::Run(i) => self.plan.runs.get(i).map(|r| &r.program).ok_or_else(|| self.no_run(i)),
        }
    }

    fn stream_at(&self, i: usize) -> Result<&Stream, DeviceError> {
        let none = || DeviceError::Unsupported(format!("stream {i} of {}", self.plan.streams.len()));
        self.plan.streams.get(i).ok_or_else(none)
    }

    fn no_run(&self, i: usize) -> DeviceError {
        DeviceError::Unsupported(format!("run {i} of {}", self.plan.runs.len()))
    }

    /// How long a wait for so many replays of a program asks before it sleeps.
    pub(crate) fn poll_time(&self, which: ProgramRef, replays: u32) -> Duration {
        let run = match which {
            ProgramRef::Load | ProgramRef::Stream(_) => None,
            ProgramRef::Run(i) => self.plan.runs.get(i),
        };
        run.map_or(self.gpu.wait_policy.usual(), |r| self.gpu.wait_policy.of(&r.stats.floor, replays))
    }

    /// The symbols in the ranges that a program is for.
    pub(crate) fn symbols(&self, which: ProgramRef) -> SymbolTable {
        let run = match which {
            ProgramRef::Load | ProgramRef::Stream(_) => None,
            ProgramRef::Run(i) => self.plan.runs.get(i),
        };
        run.map_or_else(|| self.plan.symbols.clone(), |run| run.symbols_of(&self.plan.symbols))
    }

    /// The word of the frame that a run leaves where it stops.
    pub(crate) fn stop_word(&self, run: usize) -> Option<Span> {
        let words = &self.plan.runs.get(run)?.frame.words;
        let at = words.iter().position(|slot| matches!(slot, FrameSlot::Stopped))? as u64;
        Some(Span::new(RegionKind::Frame, Bytes(4 * at), Bytes(4)))
    }

    pub(crate) fn host_steps(&self, which: ProgramRef) -> Result<&HostSteps, DeviceError> {
        match which {
            // Streams have no host steps.
            ProgramRef::Load | ProgramRef::Stream(_) => Ok(&self.load_host),
            ProgramRef::Run(i) => self.run_host.get(i).ok_or_else(|| self.no_run(i)),
        }
    }

    /// What a program is recorded from.
    pub(crate) fn scope<'a>(
        &'a self,
        which: ProgramRef,
        session: &'a Arc<Regions>,
        only: Option<&'a BTreeSet<StepId>>,
    ) -> Result<RecordScope<'a>, DeviceError> {
        let frame = match which {
            ProgramRef::Load | ProgramRef::Stream(_) => None,
            ProgramRef::Run(i) => self.plan.runs.get(i).map(|r| &r.frame),
        };
        let program = self.program(which)?;
        Ok(RecordScope { gpu: &self.gpu, program, frame, weights: &self.weights, session, only })
    }

    /// Makes the pipelines of programs, or of some of their steps, in parallel.
    pub(crate) fn prepare_programs(
        &self,
        programs: &[ProgramRef],
        only: Option<&BTreeSet<StepId>>,
    ) -> Result<(), DeviceError> {
        let programs = programs.iter().map(|&p| self.program(p)).collect::<Result<Vec<_>, _>>()?;
        let steps = programs.iter().flat_map(|p| (0u32..).map(StepId).zip(&p.steps));
        let wanted = steps.filter(|(id, _)| only.is_none_or(|o| o.contains(id)));
        self.gpu.prepare(wanted.map(|(_, step)| step))
    }

    /// Records a program that runs while weights are loaded, and runs it.
    fn run_once(
        &self,
        which: ProgramRef,
        regions: &Arc<Regions>,
        only: Option<&BTreeSet<StepId>>,
    ) -> Result<(), DeviceError> {
        let scope = self.scope(which, regions, only)?;
        let mut recorded = record_program(&scope, &self.symbols(which))?;
        let closing = self.gpu.closing_list()?;
        let never = Interrupt::default();
        run_recorded(self, which, &scope, &mut recorded, (&closing, &never), &Bindings::new())?;
        regions.check_guards()?;
        self.weights.check_guards()
    }

    /// Regions that the load program needs beside the weights, for as long as it runs.
    fn load_regions(&self, steps: &BTreeSet<StepId>) -> Result<Regions, DeviceError> {
        let used = |kind: RegionKind| {
            let chosen = steps.iter().filter_map(|id| self.plan.load.steps.get(id.0 as usize));
            chosen.flat_map(|s| &s.uses).any(|u| u.span.region == kind)
        };
        let kinds = SESSION_REGIONS.into_iter().chain([RegionKind::Scratch]).filter(|&k| used(k));
        let regions: Vec<_> = kinds.filter_map(|kind| self.plan.region(kind)).collect();
        Regions::new(&self.gpu, &regions)
    }
}

impl Loaded for VulkanLoaded {
    fn write_weights(&self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        self.weights.write(span, bytes)
    }

    fn fill_weights(&self, spans: &[Span], fill: &mut FillWeights<'_>) -> Result<(), DeviceError> {
        self.weights.fill(spans, fill)
    }

    fn read_weights(&self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.weights.read(span, bytes)
    }

    fn run_load(&self, steps: &[StepId]) -> Result<(), DeviceError> {
        self.gpu.check()?;
        if steps.is_empty() {
            return Ok(());
        }
        let only: BTreeSet<StepId> = steps.iter().copied().collect();
        self.prepare_programs(&[ProgramRef::Load], Some(&only))?;
        let regions = Arc::new(self.load_regions(&only)?);
        regions.poison(None)?;
        self.run_once(ProgramRef::Load, &regions, Some(&only))
    }

    fn stream(&self, stream: usize, fill: &mut FillWeights<'_>) -> Result<(), DeviceError> {
        self.gpu.check()?;
        let of = self.stream_at(stream)?;
        let slot = self.plan.params.get(of.param as usize);
        let span = slot.ok_or_else(|| DeviceError::Unsupported(format!("param {}", of.param)))?.span;
        let program = ProgramRef::Stream(stream);
        self.prepare_programs(&[program], None)?;
        let regions = Arc::new(Regions::new(&self.gpu, &[&of.room])?);
        regions.poison(None)?;
        regions.fill(&[span], fill)?;
        self.run_once(program, &regions, None)
    }

    fn session(self: Arc<Self>) -> Result<Box<dyn DeviceSession>, DeviceError> {
        Ok(Box::new(VulkanSession::new(&self)?))
    }

    fn prepare(&self, runs: &[usize]) -> Result<(), DeviceError> {
        self.gpu.check()?;
        let runs = runs.iter().map(|&r| ProgramRef::Run(r));
        let streams = (0..self.plan.streams.len()).map(ProgramRef::Stream);
        let programs: Vec<_> = [ProgramRef::Load].into_iter().chain(streams).chain(runs).collect();
        self.prepare_programs(&programs, None)
    }
}
