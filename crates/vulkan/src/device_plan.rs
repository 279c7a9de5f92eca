//! What is decided about a device before it is opened: queue, features, extensions, memory types, target; or why it
//! cannot be used.
//!
//! In: a [`Snapshot`]. Out: a [`DevicePlan`] or every [`Refusal`]. Pure: no driver is asked anything here.

use crate::codegen::FloatControls;
use crate::figures::{self, FigureSources, Source};
use crate::snapshot::{DeviceKind, MemoryType, Snapshot, Version};
use pumice_plan::RegionKind;
use pumice_types::target::{Component, Features, Figures, Limits, SUBMISSION_BOUND, Target};
use pumice_types::{Bytes, Table};
use std::fmt;
use std::sync::Arc;

/// Oldest Vulkan version a device may speak.
pub const FLOOR_API: Version = Version(1, 2, 0);
/// What every kernel's plain twin may use (KERNEL ABI): push constants, threads, shared memory.
const FLOOR_PUSH_CONSTANTS: u32 = 128;
const FLOOR_INVOCATIONS: u32 = 256;
const FLOOR_SHARED_MEMORY: u32 = 32 << 10;

const MEMORY_BUDGET: &str = "VK_EXT_memory_budget";
const COOPERATIVE_MATRIX: &str = "VK_KHR_cooperative_matrix";
const BFLOAT16: &str = "VK_KHR_shader_bfloat16";
const PORTABILITY_SUBSET: &str = "VK_KHR_portability_subset";

/// Why a device cannot run pumice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Too old.
    Api(Version),
    /// No 64-bit buffer addresses.
    BufferDeviceAddress,
    /// No timeline semaphores.
    TimelineSemaphore,
    /// No queue that runs kernels.
    ComputeQueue,
    /// Fewer push constants than every device must offer.
    PushConstants(u32),
    /// Workgroups too small for the plain kernels, in all or along x.
    WorkgroupSize(u32),
    /// Shared memory too small for the plain kernels.
    SharedMemory(u32),
    /// No memory for a region.
    Memory(RegionKind),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Api(has) => {
                write!(f, "it speaks Vulkan {has}; {FLOOR_API} is needed: update the driver")
            }
            Refusal::BufferDeviceAddress => {
                write!(f, "feature bufferDeviceAddress is missing: update the driver")
            }
            Refusal::TimelineSemaphore => {
                write!(f, "feature timelineSemaphore is missing: update the driver")
            }
            Refusal::ComputeQueue => write!(f, "it has no queue that runs compute shaders"),
            Refusal::PushConstants(n) => {
                write!(f, "{n} bytes of push constants; {FLOOR_PUSH_CONSTANTS} are needed")
            }
            Refusal::WorkgroupSize(n) => {
                write!(f, "workgroups of at most {n} threads; {FLOOR_INVOCATIONS} are needed")
            }
            Refusal::SharedMemory(n) => {
                write!(f, "{n} bytes of shared memory; {FLOOR_SHARED_MEMORY} are needed")
            }
            Refusal::Memory(kind) => write!(f, "no memory type fits region {kind}"),
        }
    }
}

/// Which optional features are switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enable {
    /// 64-bit integers in kernels.
    pub int64: bool,
    /// f16 arithmetic.
    pub float16: bool,
    /// 16-bit storage.
    pub storage16: bool,
    /// 8-bit storage.
    pub storage8: bool,
    /// Cooperative matrices, and the memory model that they are written in.
    pub matrices: bool,
    /// Cooperative matrices of bf16.
    pub bfloat16: bool,
}

impl Enable {
    fn of(snapshot: &Snapshot) -> Enable {
        let f = &snapshot.abilities.features;
        Enable {
            int64: f.int64,
            float16: f.float16,
            storage16: f.storage16,
            storage8: f.storage8,
            matrices: !f.matrices.is_empty(),
            bfloat16: has_bfloat16(snapshot),
        }
    }
}

/// Extensions that the device has and pumice uses.
fn extensions(snapshot: &Snapshot) -> Vec<String> {
    let optional = [MEMORY_BUDGET, PORTABILITY_SUBSET].into_iter().filter(|e| snapshot.has_extension(e));
    let matrices = !snapshot.abilities.features.matrices.is_empty();
    let of_matrices = matrices.then_some(COOPERATIVE_MATRIX);
    let of_bfloat16 = has_bfloat16(snapshot).then_some(BFLOAT16);
    optional.chain(of_matrices).chain(of_bfloat16).map(str::to_owned).collect()
}

fn has_bfloat16(snapshot: &Snapshot) -> bool {
    snapshot.abilities.features.matrices.iter().any(|shape| shape.has(Component::BF16))
}

fn float_controls(snapshot: &Snapshot) -> FloatControls {
    let (abilities, f) = (&snapshot.abilities, &snapshot.abilities.features);
    FloatControls {
        signed_zero_inf_nan_preserve: f.preserve_special_f32,
        denorm_preserve: f.preserve_subnormal_f32,
        round_to_nearest_even: abilities.round_to_nearest_f32,
        folds_zeros: snapshot.kind == DeviceKind::Cpu,
    }
}

/// How a device is opened and used.
#[derive(Clone, Debug, PartialEq)]
pub struct DevicePlan {
    /// Queue family; its first queue is used.
    pub queue_family: u32,
    /// Whether that family has timestamps.
    pub timestamps: bool,
    /// The bits of a timestamp that say anything; the others may be anything. 0 where there are none.
    pub timestamp_mask: u64,
    /// Extensions to enable.
    pub extensions: Vec<String>,
    /// Whether free memory can be asked for.
    pub memory_budget: bool,
    /// Whether pipelines are not to be made while something is submitted (a quirk).
    pub pipelines_apart: bool,
    /// Optional features.
    pub enable: Enable,
    /// For each region kind, in the order of [`RegionKind::ALL`], memory types from best to worst.
    memory: Vec<Vec<u32>>,
    /// Memory types for staging, from best to worst.
    pub staging: Vec<u32>,
    /// The float behaviour that every kernel declares: what the device offers of it (OPS 1.3.5).
    pub float_controls: FloatControls,
    /// What to compile for.
    pub target: Target,
    /// Where the target's figures are from.
    pub figures: FigureSources,
}

impl DevicePlan {
    /// Decides everything, or gives every reason against the device.
    pub fn new(snapshot: &Snapshot) -> Result<DevicePlan, Vec<Refusal>> {
        let mut refusals = floor(snapshot);
        let family = queue_family(snapshot);
        if family.is_none() {
            refusals.push(Refusal::ComputeQueue);
        }
        let memory: Vec<_> = RegionKind::ALL.iter().map(|&k| region_types(snapshot, k)).collect();
        let without = RegionKind::ALL.iter().zip(&memory).filter(|(_, types)| types.is_empty());
        refusals.extend(without.map(|(kind, _)| Refusal::Memory(*kind)));
        let Some(queue_family) = family.filter(|_| refusals.is_empty()) else { return Err(refusals) };
        let (target, figures) = target(snapshot);
        let timestamp_bits = snapshot.queue_families[queue_family as usize].timestamp_bits;
        Ok(DevicePlan {
            queue_family,
            timestamps: timestamp_bits > 0 && snapshot.limits.timestamp_period_ns > 0.0,
            timestamp_mask: u64::MAX.checked_shr(64u32.saturating_sub(timestamp_bits)).unwrap_or(0),
            extensions: extensions(snapshot),
            memory_budget: snapshot.has_extension(MEMORY_BUDGET),
            pipelines_apart: crate::quirks::of(snapshot).any(|q| q.pipelines_apart),
            enable: Enable::of(snapshot),
            memory,
            staging: ranked(snapshot, |t| t.host_visible, |t| (!t.host_cached, t.device_local)),
            float_controls: float_controls(snapshot),
            target,
            figures,
        })
    }

    /// Takes figures that were measured in the place of estimated ones.
    pub(crate) fn measured(&mut self, figures: Option<&Figures>) {
        let Some(figures) = figures else { return };
        self.target.tuning = figures.over(&self.target.tuning);
        self.figures.rates = Source::Measured;
        if figures.compute_units.is_some() {
            self.figures.units = Source::Measured;
        }
    }

    /// Memory types for a region, from best to worst.
    pub fn memory_types(&self, kind: RegionKind) -> &[u32] {
        let at = RegionKind::ALL.iter().position(|&k| k == kind);
        at.and_then(|i| self.memory.get(i)).map_or(&[], Vec::as_slice)
    }
}

fn floor(s: &Snapshot) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if s.api < FLOOR_API {
        // Everything else is unknown on such a device.
        return vec![Refusal::Api(s.api)];
    }
    let mut need = |ok: bool, refusal| {
        if !ok {
            refusals.push(refusal);
        }
    };
    let l = &s.limits;
    need(s.abilities.buffer_device_address, Refusal::BufferDeviceAddress);
    need(s.abilities.timeline_semaphore, Refusal::TimelineSemaphore);
    need(l.max_push_constants >= FLOOR_PUSH_CONSTANTS, Refusal::PushConstants(l.max_push_constants));
    let threads = workgroup_threads(s);
    need(threads >= FLOOR_INVOCATIONS, Refusal::WorkgroupSize(threads));
    need(l.max_shared_memory >= FLOOR_SHARED_MEMORY, Refusal::SharedMemory(l.max_shared_memory));
    refusals
}

/// Threads of a workgroup of pumice: they all lie along x.
fn workgroup_threads(s: &Snapshot) -> u32 {
    s.limits.max_workgroup_invocations.min(s.limits.max_workgroup_size[0])
}

/// A family that only computes where there is one (its queues do not wait for a desktop), else the first that
/// computes. Families with timestamps come first.
fn queue_family(s: &Snapshot) -> Option<u32> {
    (0u32..)
        .zip(&s.queue_families)
        .filter(|(_, f)| f.compute && f.count > 0)
        .min_by_key(|(_, f)| (f.timestamp_bits == 0, f.graphics))
        .map(|(i, _)| i)
}

/// Ordinary memory types that satisfy `must`, ordered by `rank` (smaller is better), then by index: Vulkan orders
/// types so that those with fewer properties come first.
fn ranked<R: Ord>(
    s: &Snapshot,
    must: impl Fn(&MemoryType) -> bool,
    rank: impl Fn(&MemoryType) -> R,
) -> Vec<u32> {
    let mut types: Vec<(u32, &MemoryType)> =
        (0u32..).zip(&s.memory_types).filter(|(_, t)| t.ordinary && must(t)).collect();
    types.sort_by_key(|(i, t)| (rank(t), *i));
    types.into_iter().map(|(i, _)| i).collect()
}

/// Weights, states and scratch: the device's own memory and no other (82 times slower over the bus, H200,
/// 2026-11-20), host-visible only where all of it is (a host that writes
/// through the bus is no faster than a copy, and reads are far slower). What the host writes per run: the device's own
/// memory through a window where there is one, because kernels read it from there at full speed. What the host reads:
/// cached host memory. The frame and the status block are small and written or updated by kernels: device memory
/// through the window, else host memory.
fn region_types(s: &Snapshot, kind: RegionKind) -> Vec<u32> {
    match kind {
        RegionKind::Weights | RegionKind::States | RegionKind::Scratch => {
            let any = !s.memory_types.iter().any(|t| t.ordinary && t.device_local);
            ranked(s, |t| any || t.device_local, |t| t.host_visible && !t.host_cached)
        }
        RegionKind::IoIn | RegionKind::Frame | RegionKind::Status => {
            ranked(s, |t| t.host_visible, |t| (!t.device_local, !t.host_coherent))
        }
        RegionKind::IoOut => ranked(s, |t| t.host_visible, |t| (!t.host_cached, !t.host_coherent)),
    }
}

fn target(s: &Snapshot) -> (Target, FigureSources) {
    let l = &s.limits;
    let nearest = nearest_profile(s);
    let (tuning, sources) = figures::of(s, nearest.as_ref());
    let target = Target {
        name: nearest.as_ref().map_or_else(|| s.name.clone(), |p| p.name.clone()),
        limits: Limits {
            max_workgroup_count: l.max_workgroup_count,
            max_workgroup_invocations: workgroup_threads(s),
            max_shared_memory: Bytes(l.max_shared_memory.into()),
            max_push_constants: l.max_push_constants,
            // An allocation of pumice holds one buffer.
            max_allocation: Bytes(l.max_allocation.min(l.max_buffer.unwrap_or(u64::MAX))),
            max_storage_range: Bytes(l.max_storage_range.into()),
            memory: Bytes(device_memory(s)),
            loop_turns: crate::quirks::of(s).filter_map(|q| q.loop_turns).min(),
        },
        features: Features { cpu: s.kind == DeviceKind::Cpu, ..s.abilities.features.clone() },
        submission_bound: SUBMISSION_BOUND,
        table: nearest.map_or_else(|| generic_table(s.kind), |p| p.table),
        tuning,
    };
    (target, sources)
}

/// Bytes of the largest heap of the device's own (of any heap, where it has none).
fn device_memory(s: &Snapshot) -> u64 {
    let own = s.heaps.iter().filter(|h| h.device_local).map(|h| h.size).max();
    own.or_else(|| s.heaps.iter().map(|h| h.size).max()).unwrap_or(0)
}

/// The profile that was measured on this device, if there is one.
fn nearest_profile(s: &Snapshot) -> Option<Target> {
    if s.kind == DeviceKind::Cpu && s.name.contains("llvmpipe") {
        return Some(Target::lavapipe());
    }
    (s.name.contains("H200")).then(Target::h200)
}

/// The table for a device that nobody has measured.
fn generic_table(kind: DeviceKind) -> Arc<Table> {
    if kind == DeviceKind::Cpu { Target::lavapipe().table } else { Target::gpu_table() }
}

#[cfg(test)]
mod tests;
