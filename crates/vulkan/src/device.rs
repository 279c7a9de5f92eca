//! Opening a device, and the runtime's `Device` over it.
//!
//! In: which device, and options. Out: a [`VulkanDevice`], or why not.

use crate::cache_file::CacheIdentity;
use crate::device_options::DeviceOptions;
use crate::device_plan::{DevicePlan, Refusal};
use crate::error::OpenError;
use crate::figure_file;
use crate::figures::Source;
use crate::gpu::Gpu;
use crate::kernel_source::{CheckedInKernels, KernelSource, check_code};
use crate::loaded::VulkanLoaded;
use crate::measure;
use crate::pipelines::Pipelines;
use crate::raw::{CallLog, DeviceShared, Instance, InstanceOptions, MemoryLedger, MessageLog, Queue};
use crate::snapshot::{DeviceKind, Snapshot};
use crate::staging::Staging;
use crate::wait_policy::WaitPolicy;
use pumice_plan::{CheckedPlan, RegionKind};
use pumice_runtime::device::{Device, DeviceError, HostOps, Loaded, check_limits};
use pumice_types::target::Figures;
use pumice_types::{Bytes, Target};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A device on which nothing has ended for so long, or for so many bounds of a submission, counts as lost.
const LEAST_STALL: Duration = Duration::from_secs(10);
const STALL_BOUNDS: u32 = 50;
/// So many times as long where the host computes.
const CPU_STALLS: u32 = 60;

/// Which device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The best one that can be used: discrete before integrated before CPU, then the one with more memory.
    #[default]
    Best,
    /// By its place in the list.
    Index(usize),
    /// By its name, or a part of it that only one device has; upper and lower case are the same. A number that is no
    /// device's whole name is an index: many names have digits.
    Name(String),
    /// By its UUID.
    Uuid([u8; 16]),
}

/// A device in the list, with what pumice makes of it.
#[derive(Clone, Debug)]
pub struct DeviceReport {
    /// Its place in the list.
    pub index: usize,
    /// What it says of itself.
    pub snapshot: Snapshot,
    /// How it would be used, or why it cannot.
    pub verdict: Result<DevicePlan, Vec<Refusal>>,
}

impl DeviceReport {
    /// As [`VulkanDevice::cache_file_name`], of a device that is not open, with the kernels that are checked in.
    pub fn cache_file_name(&self, ending: &str) -> String {
        CacheIdentity::new(&self.snapshot, CheckedInKernels.identity()).file_name(ending)
    }

    /// The same with the figures that were measured when the device was opened with this folder, if it was. Nothing is
    /// opened.
    #[must_use]
    pub fn kept_in(mut self, folder: &Path) -> DeviceReport {
        let identity = CacheIdentity::new(&self.snapshot, CheckedInKernels.identity());
        if let Ok(plan) = &mut self.verdict
            && plan.figures.rates == Source::Estimated
        {
            plan.measured(figure_file::kept(folder, identity, self.snapshot.compute_units).as_ref());
        }
        self
    }
}

/// An opened Vulkan device.
pub struct VulkanDevice {
    pub(crate) gpu: Arc<Gpu>,
    snapshot: Snapshot,
    messages: Arc<MessageLog>,
    /// What happened to the file of figures.
    notes: Vec<String>,
}

/// Every device of this machine, in the loader's order.
pub fn devices() -> Result<Vec<DeviceReport>, OpenError> {
    reports(&Instance::new(&InstanceOptions::default())?)
}

pub(crate) fn reports(instance: &Instance) -> Result<Vec<DeviceReport>, OpenError> {
    let snapshots = instance.snapshots()?;
    Ok(snapshots
        .into_iter()
        .enumerate()
        .map(|(index, snapshot)| DeviceReport { index, verdict: DevicePlan::new(&snapshot), snapshot })
        .collect())
}

/// The report a pick means.
pub(crate) fn choose(reports: Vec<DeviceReport>, pick: &Pick) -> Result<DeviceReport, OpenError> {
    if reports.is_empty() {
        return Err(OpenError::NoDevice);
    }
    let available: Vec<String> =
        reports.iter().map(|r| format!("{}: {}", r.index, r.snapshot.name)).collect();
    choose_of_some(reports, pick).map_err(|wanted| OpenError::NotFound { wanted, available })
}

/// The report a pick means, of at least one; or what was looked for.
fn choose_of_some(reports: Vec<DeviceReport>, pick: &Pick) -> Result<DeviceReport, String> {
    match pick {
        Pick::Best => {
            let first = reports[0].clone();
            let usable = reports.into_iter().filter(|r| r.verdict.is_ok());
            Ok(usable.min_by_key(rank).unwrap_or(first))
        }
        Pick::Index(i) => reports.into_iter().nth(*i).ok_or_else(|| format!("number {i}")),
        Pick::Uuid(uuid) => {
            let hex: String = uuid.iter().map(|b| format!("{b:02x}")).collect();
            let mut found = reports.into_iter().filter(|r| r.snapshot.device_uuid == *uuid);
            found.next().ok_or_else(|| format!("of UUID {hex}"))
        }
        Pick::Name(name) => choose_by_name(reports, name),
    }
}

fn choose_by_name(reports: Vec<DeviceReport>, name: &str) -> Result<DeviceReport, String> {
    let lower = name.to_lowercase();
    let exact = reports.iter().position(|r| r.snapshot.name.to_lowercase() == lower);
    let has = |r: &DeviceReport| !name.is_empty() && r.snapshot.name.to_lowercase().contains(&lower);
    let part: Vec<usize> = (0..reports.len()).filter(|&i| has(&reports[i])).collect();
    let found = match (exact, part.as_slice(), name.parse()) {
        (Some(i), ..) => i,
        (None, _, Ok(number)) => return choose_of_some(reports, &Pick::Index(number)),
        (None, &[i], _) => i,
        (None, [], _) => return Err(format!("named `{name}`")),
        (None, ..) => return Err(format!("the only one with `{name}` in its name")),
    };
    Ok(reports[found].clone())
}

/// Smaller is better.
fn rank(report: &DeviceReport) -> (u8, std::cmp::Reverse<u64>, usize) {
    let kind = match report.snapshot.kind {
        DeviceKind::Discrete => 0,
        DeviceKind::Integrated => 1,
        DeviceKind::Virtual => 2,
        DeviceKind::Other => 3,
        DeviceKind::Cpu => 4,
    };
    let memory = report.verdict.as_ref().map_or(0, |p| p.target.limits.memory.0);
    (kind, std::cmp::Reverse(memory), report.index)
}

/// What every part of an open device uses.
fn gpu(
    shared: Arc<DeviceShared>,
    plan: DevicePlan,
    snapshot: &Snapshot,
    options: &DeviceOptions,
) -> Result<Gpu, OpenError> {
    let wait_policy = WaitPolicy { given: options.poll, cpu: plan.target.features.cpu };
    let queue = Queue::new(&shared, wait_policy.usual(), stall(options, &plan.target))?;
    Ok(Gpu {
        pipelines: Pipelines::new(&shared, options.pipelines(&plan, snapshot))?,
        staging: Mutex::new(Staging::default()),
        plan,
        poison: options.poison,
        timestamp_period_ns: f64::from(snapshot.limits.timestamp_period_ns),
        storage_buffers: snapshot.limits.max_storage_buffers,
        storage_alignment: snapshot.limits.storage_offset_alignment.max(4),
        queue,
        wait_policy,
        name: snapshot.name.clone(),
        observer: options.observer.clone(),
        shared,
    })
}

/// How long nothing may end before a device counts as lost.
fn stall(options: &DeviceOptions, target: &Target) -> Duration {
    let stall = LEAST_STALL.max(options.submission_bound.saturating_mul(STALL_BOUNDS));
    // A CPU driver shares its cores with whoever is there, and translates kernels of the descriptor form when a run
    // first dispatches them; meanwhile the timeline stands still (over 10 s for one submission of a transform of 2^22
    // beside three others on two CPUs, 2026-11-28).
    if target.features.cpu { stall.saturating_mul(CPU_STALLS) } else { stall }
}

impl VulkanDevice {
    /// Opens a device.
    pub fn open(pick: &Pick, options: &DeviceOptions) -> Result<VulkanDevice, OpenError> {
        let wanted = InstanceOptions { validation: options.validation, faults: options.faults };
        VulkanDevice::open_on(Arc::new(Instance::new(&wanted)?), pick, options)
    }

    /// Opens a device of an instance that the caller made; its faults and validation count, not those of `options`.
    /// So a test can keep the instance's logs when opening fails.
    pub fn open_on(
        instance: Arc<Instance>,
        pick: &Pick,
        options: &DeviceOptions,
    ) -> Result<VulkanDevice, OpenError> {
        let report = choose(reports(&instance)?, pick)?;
        VulkanDevice::open_report(&instance, report, options)
    }

    /// Opens the device of a report, as it is described there.
    pub(crate) fn open_report(
        instance: &Arc<Instance>,
        report: DeviceReport,
        options: &DeviceOptions,
    ) -> Result<VulkanDevice, OpenError> {
        let DeviceReport { index, snapshot, verdict } = report;
        let mut plan =
            verdict.map_err(|refusals| OpenError::Refused { device: snapshot.name.clone(), refusals })?;
        plan.target.submission_bound = options.submission_bound;
        if let Some(table) = &options.table {
            plan.target.table = table.clone();
        }
        options.figures.check()?;
        let messages = instance.messages().clone();
        let shared = DeviceShared::new(instance, index, &snapshot, &plan, options.host_access)?;
        let mut gpu = gpu(shared, plan, &snapshot, options)?;
        let mut notes = Vec::new();
        if let Some((folder, identity)) = options.measured_in(&gpu, &snapshot) {
            let kept = figure_file::load_or_measure(&gpu, folder, identity, snapshot.compute_units)?;
            notes = kept.notes;
            gpu.plan.measured(kept.figures.as_ref());
        }
        gpu.plan.figures.give(&options.figures, &mut gpu.plan.target.tuning)?;
        Ok(VulkanDevice { gpu: Arc::new(gpu), snapshot, messages, notes })
    }

    /// What the device says of itself.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// How it is used.
    pub fn device_plan(&self) -> &DevicePlan {
        &self.gpu.plan
    }

    /// The log of Vulkan calls: how many pipelines were made, command buffers begun, and so on.
    pub fn calls(&self) -> &Arc<CallLog> {
        self.gpu.shared.log()
    }

    /// The validation layer's messages. The log outlives the device.
    pub fn messages(&self) -> &Arc<MessageLog> {
        &self.messages
    }

    /// What is alive of the device's memory. The ledger outlives the device.
    pub fn memory(&self) -> &Arc<MemoryLedger> {
        self.gpu.shared.ledger()
    }

    /// Bytes of device memory that executables, sessions and their recordings hold; 0 once all of them are dropped.
    pub fn live_bytes(&self) -> Bytes {
        self.memory().live_bytes()
    }

    /// What happened to the pipeline cache and to the figures that are kept beside it, for people.
    pub fn notes(&self) -> Vec<String> {
        self.notes.iter().cloned().chain(self.gpu.pipelines.notes()).collect()
    }

    /// Measures the device's figures, now, whatever it was opened with: two digits each, and compute units by how time
    /// steps with groups, also where the driver says them. What the device is used by does not change.
    ///
    /// # Errors
    /// Where the queue has no timestamps, or the device fails.
    pub fn measure(&self) -> Result<Figures, DeviceError> {
        self.gpu.check()?;
        measure::figures(&self.gpu, None)
    }

    /// The name of a file that belongs to this device, its driver and these kernels in a cache folder.
    pub fn cache_file_name(&self, ending: &str) -> String {
        let kernels = self.gpu.pipelines.source().identity();
        CacheIdentity::new(&self.snapshot, kernels).file_name(ending)
    }
}

impl Device for VulkanDevice {
    fn name(&self) -> String {
        format!("{} (driver {})", self.snapshot.name, self.snapshot.driver())
    }

    fn target(&self) -> &Target {
        &self.gpu.plan.target
    }

    fn free_memory(&self) -> Option<Bytes> {
        crate::memory::free(&self.gpu, RegionKind::Weights)
    }

    fn load(&self, plan: CheckedPlan, host: Arc<dyn HostOps>) -> Result<Arc<dyn Loaded>, DeviceError> {
        check_limits(&plan, self.target())?;
        Ok(Arc::new(VulkanLoaded::new(&self.gpu, plan, host.as_ref())?))
    }

    fn prepare(&self, plans: &[CheckedPlan]) -> Result<(), DeviceError> {
        self.gpu.check()?;
        for plan in plans {
            check_limits(plan, self.target())?;
            check_code(plan, self.gpu.pipelines.source())?;
        }
        self.gpu.prepare(plans.iter().flat_map(|plan| plan.programs()).flat_map(|p| &p.steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(index: usize, name: &str, kind: DeviceKind) -> DeviceReport {
        let text = include_str!("../tests/snapshots/lavapipe-22.3.json");
        let base: Snapshot = serde_json::from_str(text).unwrap();
        let mut snapshot = Snapshot { name: name.into(), kind, ..base };
        snapshot.device_uuid[15] = index as u8;
        DeviceReport { index, verdict: DevicePlan::new(&snapshot), snapshot }
    }

    fn three() -> Vec<DeviceReport> {
        let mut refused = report(2, "Old GPU", DeviceKind::Discrete);
        refused.verdict = Err(vec![Refusal::TimelineSemaphore]);
        vec![report(0, "llvmpipe", DeviceKind::Cpu), report(1, "Small GPU", DeviceKind::Integrated), refused]
    }

    #[test]
    fn the_best_usable_device_is_chosen() {
        assert_eq!(choose(three(), &Pick::Best).unwrap().index, 1);
        assert!(matches!(choose(Vec::new(), &Pick::Best), Err(OpenError::NoDevice)));
    }

    /// "1" opened llvmpipe, whose name has a 1 in its version of LLVM, where another device has that number.
    #[test]
    fn a_number_is_an_index() {
        let mut all = three();
        all[0].snapshot.name = "llvmpipe (LLVM 15.0.6, 256 bits)".into();
        assert_eq!(choose(all.clone(), &Pick::Name("1".into())).unwrap().index, 1);
        assert!(choose(all.clone(), &Pick::Name("15".into())).is_err(), "there are three");
        all[2].snapshot.name = "1".into();
        assert_eq!(choose(all, &Pick::Name("1".into())).unwrap().index, 2, "a whole name");
    }

    #[test]
    fn devices_are_found_by_index_name_and_uuid() {
        assert_eq!(choose(three(), &Pick::Index(2)).unwrap().index, 2);
        assert_eq!(choose(three(), &Pick::Name("LLVM".into())).unwrap().index, 0);
        let uuid = three()[1].snapshot.device_uuid;
        assert_eq!(choose(three(), &Pick::Uuid(uuid)).unwrap().index, 1);
        for pick in [Pick::Index(3), Pick::Name("GPU".into()), Pick::Name("".into()), Pick::Uuid([9; 16])] {
            let error = choose(three(), &pick).unwrap_err();
            assert!(error.to_string().contains("1: Small GPU"), "{error}");
        }
    }
}
