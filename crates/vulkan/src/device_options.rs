//! How a device is opened: options made at the edge. No environment is read.

use crate::cache_file::CacheIdentity;
use crate::device_plan::DevicePlan;
use crate::figures::Source;
use crate::gpu::{Gpu, Poison};
use crate::kernel_source::{CheckedInKernels, KernelSource};
use crate::pipelines::PipelineOptions;
use crate::progress::KernelObserver;
use crate::raw::{FaultPlan, HostAccess, Validation};
use crate::snapshot::{DeviceKind, Snapshot};
use pumice_plan::kernel::interface::Addressing;
use pumice_types::Table;
use pumice_types::target::{Figures, SUBMISSION_BOUND};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How a device is opened.
#[derive(Clone)]
#[non_exhaustive]
pub struct DeviceOptions {
    /// What the validation layer checks.
    pub validation: Validation,
    /// Which Vulkan call fails, for tests.
    pub faults: FaultPlan,
    /// How kernels reach their operands: by address (the product), or through descriptors with tight ranges, so that
    /// synchronization validation sees every operand (plain kernels only).
    pub addressing: Addressing,
    /// Folder of the pipeline cache; `None`: pipelines are made anew by every process. A GPU that nobody has measured
    /// is measured when it is first opened with the folder, in some 300 ms, and its figures are kept there; without a
    /// folder they are estimated.
    pub cache_dir: Option<PathBuf>,
    /// Where kernels come from.
    pub kernels: Arc<dyn KernelSource>,
    /// Threads that make pipelines; `None`: as many as the machine runs.
    pub pipeline_threads: Option<usize>,
    /// Fill memory with this word, put guard bands around every chunk, and fail a run that touched one.
    pub poison: Option<Poison>,
    /// How the host reaches memory: as the driver offers it, or, for tests, as on a device that offers the least.
    pub host_access: HostAccess,
    /// How long a wait for the device asks again and again, giving way to other threads, before it sleeps; `None`:
    /// 10 ms on a GPU, where waking a sleeping thread would add to every run; on a CPU driver, whose own threads need
    /// the processor, not at all, but for runs of which the plan says that their levels are small: for eight times
    /// their floor.
    pub poll: Option<Duration>,
    /// How long one submission may last, 200 ms where nobody says otherwise: runs are cut so that none lasts much
    /// longer, because drivers end what runs too long, some without an error. Zero: every level is a submission, for
    /// tests. Where nothing has ended for ten seconds, or fifty times this, the device counts as lost.
    pub submission_bound: Duration,
    /// Figures of the device that the caller knows better: they stand in the place of the profile's, the driver's, or
    /// what was measured or estimated.
    pub figures: Figures,
    /// The selection table to compile with, such as one that `pumice tune` wrote; `None`: that of the device's class.
    pub table: Option<Arc<Table>>,
    /// Hears how far the kernels of a plan are while they are made: seconds on a CPU driver the first time.
    pub observer: Option<KernelObserver>,
}

impl Default for DeviceOptions {
    fn default() -> DeviceOptions {
        DeviceOptions {
            validation: Validation::Off,
            faults: FaultPlan::default(),
            addressing: Addressing::Address,
            cache_dir: None,
            kernels: Arc::new(CheckedInKernels),
            pipeline_threads: None,
            poison: None,
            host_access: HostAccess::Offered,
            poll: None,
            submission_bound: SUBMISSION_BOUND,
            figures: Figures::default(),
            table: None,
            observer: None,
        }
    }
}

impl DeviceOptions {
    /// What the validation layer checks.
    #[must_use]
    pub fn validation(mut self, validation: Validation) -> Self {
        self.validation = validation;
        self
    }

    /// Which Vulkan call fails, for tests.
    #[must_use]
    pub fn faults(mut self, faults: FaultPlan) -> Self {
        self.faults = faults;
        self
    }

    /// How kernels reach their operands.
    #[must_use]
    pub fn addressing(mut self, addressing: Addressing) -> Self {
        self.addressing = addressing;
        self
    }

    /// Folder of the pipeline cache.
    #[must_use]
    pub fn cache_dir(mut self, folder: impl Into<Option<PathBuf>>) -> Self {
        self.cache_dir = folder.into();
        self
    }

    /// Where kernels come from.
    #[must_use]
    pub fn kernels(mut self, kernels: Arc<dyn KernelSource>) -> Self {
        self.kernels = kernels;
        self
    }

    /// Threads that make pipelines.
    #[must_use]
    pub fn pipeline_threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.pipeline_threads = threads.into();
        self
    }

    /// Fills memory with this word and watches guard bands.
    #[must_use]
    pub fn poison(mut self, word: impl Into<Option<Poison>>) -> Self {
        self.poison = word.into();
        self
    }

    /// How the host reaches memory.
    #[must_use]
    pub fn host_access(mut self, access: HostAccess) -> Self {
        self.host_access = access;
        self
    }

    /// Figures in the place of the device's own.
    #[must_use]
    pub fn figures(mut self, figures: Figures) -> Self {
        self.figures = figures;
        self
    }

    /// The selection table to compile with.
    #[must_use]
    pub fn table(mut self, table: impl Into<Option<Arc<Table>>>) -> Self {
        self.table = table.into();
        self
    }

    /// How pipelines are made.
    pub(crate) fn pipelines(&self, plan: &DevicePlan, snapshot: &Snapshot) -> PipelineOptions {
        let identity = || CacheIdentity::new(snapshot, self.kernels.identity());
        PipelineOptions {
            source: self.kernels.clone(),
            addressing: self.addressing,
            controls: plan.float_controls,
            threads: self.pipeline_threads,
            cache: self.cache_dir.clone().map(|folder| (folder, identity())),
        }
    }

    /// Where figures are measured that nobody has measured or given: with a cache folder, and on no CPU.
    pub(crate) fn measured_in(&self, gpu: &Gpu, snapshot: &Snapshot) -> Option<(&Path, CacheIdentity)> {
        let folder = self.cache_dir.as_deref()?;
        let unknown = gpu.plan.figures.rates == Source::Estimated && !self.figures.has_every_rate();
        let wanted = unknown && snapshot.kind != DeviceKind::Cpu && self.addressing == Addressing::Address;
        wanted.then(|| (folder, CacheIdentity::new(snapshot, self.kernels.identity())))
    }

    /// Who hears how far kernels are.
    #[must_use]
    pub fn observer(mut self, observer: impl Into<Option<KernelObserver>>) -> Self {
        self.observer = observer.into();
        self
    }

    /// How long one submission may last.
    #[must_use]
    pub fn submission_bound(mut self, bound: Duration) -> Self {
        self.submission_bound = bound;
        self
    }

    /// How long a wait for the device polls before it sleeps.
    #[must_use]
    pub fn poll(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.poll = time.into();
        self
    }
}
