//! The logical device. Every other owner holds an `Arc` of it, so it goes last.

use super::bfloat16::Bfloat16Features;
use super::calls::{CallError, CallLog};
use super::gate::Gate;
use super::instance::Instance;
use super::ledger::MemoryLedger;
use super::snapshot::heap_budgets;
use super::table::DeviceTable;
use crate::device_plan::DevicePlan;
use crate::snapshot::{DeviceLimits, Heap, MemoryType, Snapshot};
use ash::vk;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the host reaches a device's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostAccess {
    /// As the driver offers it.
    #[default]
    Offered,
    /// As if the device offered the least that Vulkan allows, for tests: weights, states and scratch are never mapped,
    /// and what is mapped is not coherent. The host then works on copies of its own, which only flush and invalidate
    /// move, in whole atoms; one that is missing gives wrong results on any driver.
    Shadowed,
}

/// Owner of `VkDevice`.
pub(crate) struct DeviceShared {
    pub(super) table: DeviceTable,
    physical: vk::PhysicalDevice,
    family: u32,
    budgets: bool,
    host: HostAccess,
    limits: DeviceLimits,
    memory_types: Vec<MemoryType>,
    heaps: Vec<Heap>,
    ledger: Arc<MemoryLedger>,
    pub(super) gate: Gate,
    // Declared last: the instance goes after the device.
    instance: Arc<Instance>,
}

impl DeviceShared {
    /// Makes the device the plan describes; `index` counts the instance's physical devices.
    pub(crate) fn new(
        instance: &Arc<Instance>,
        index: usize,
        snapshot: &Snapshot,
        plan: &DevicePlan,
        host: HostAccess,
    ) -> Result<Arc<DeviceShared>, CallError> {
        let physical = *instance.physical_devices()?.get(index).ok_or(CallError::Range {
            offset: index as u64,
            len: 1,
            size: 0,
        })?;
        let device = create(instance, physical, plan)?;
        Ok(Arc::new(DeviceShared {
            table: DeviceTable {
                device,
                log: instance.calls().clone(),
                lost: AtomicBool::new(false),
                stalled: AtomicBool::new(false),
            },
            physical,
            family: plan.queue_family,
            budgets: plan.memory_budget,
            host,
            limits: snapshot.limits,
            memory_types: snapshot.memory_types.clone(),
            heaps: snapshot.heaps.clone(),
            ledger: Arc::new(MemoryLedger::new(snapshot.heaps.len(), snapshot.limits.max_allocation_count)),
            gate: Gate::new(plan.pipelines_apart),
            instance: instance.clone(),
        }))
    }

    /// Whether a call on this device has returned `VK_ERROR_DEVICE_LOST`.
    pub(crate) fn is_lost(&self) -> bool {
        self.table.lost.load(Ordering::Relaxed)
    }

    /// A submission never ended: the device counts as lost, and nothing of it is destroyed any more.
    pub(super) fn give_up(&self) {
        self.table.lost.store(true, Ordering::Relaxed);
        if !self.table.stalled.swap(true, Ordering::AcqRel) {
            // Nor is the instance: the device is alive.
            std::mem::forget(self.instance.clone());
        }
    }

    /// Whether a submission never ended.
    pub(super) fn is_stalled(&self) -> bool {
        self.table.stalled.load(Ordering::Acquire)
    }

    /// The log of calls.
    pub(crate) fn log(&self) -> &Arc<CallLog> {
        &self.table.log
    }

    pub(super) fn family(&self) -> u32 {
        self.family
    }

    pub(super) fn host(&self) -> HostAccess {
        self.host
    }

    pub(super) fn limits(&self) -> &DeviceLimits {
        &self.limits
    }

    /// What is alive of the device's memory.
    pub(crate) fn ledger(&self) -> &Arc<MemoryLedger> {
        &self.ledger
    }

    /// A memory type by its index.
    pub(crate) fn memory_type(&self, index: u32) -> Option<&MemoryType> {
        self.memory_types.get(index as usize)
    }

    /// Bytes that can still be taken from a heap: the driver's estimate, or what pumice has not taken itself.
    pub(crate) fn available(&self, heap: u32) -> u64 {
        let heap = heap as usize;
        if self.budgets
            && !self.table.log.forked()
            && let Some(&free) = heap_budgets(&self.instance.table, self.physical).get(heap)
        {
            return free;
        }
        let size = self.heaps.get(heap).map_or(0, |h| h.size);
        size.saturating_sub(self.ledger.taken(heap))
    }
}

impl Drop for DeviceShared {
    fn drop(&mut self) {
        // SAFETY: every object made from the device holds an `Arc` of it, so none is left and none is in use.
        self.table.destroy(|d| unsafe { d.destroy_device(None) });
    }
}

fn create(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    plan: &DevicePlan,
) -> Result<ash::Device, CallError> {
    let priorities = [1.0f32];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(plan.queue_family)
        .queue_priorities(&priorities)];
    // Names come from the driver's own list, which holds no zero bytes; one that did would be left out.
    let names: Vec<CString> = plan.extensions.iter().filter_map(|n| CString::new(n.as_str()).ok()).collect();
    let names: Vec<_> = names.iter().map(|n| n.as_ptr()).collect();
    let enable = &plan.enable;
    let base = vk::PhysicalDeviceFeatures::default().shader_int64(enable.int64);
    let mut f11 = vk::PhysicalDeviceVulkan11Features::default().storage_buffer16_bit_access(enable.storage16);
    let mut f12 = vk::PhysicalDeviceVulkan12Features::default()
        .buffer_device_address(true)
        .timeline_semaphore(true)
        .shader_float16(enable.float16)
        .storage_buffer8_bit_access(enable.storage8)
        .vulkan_memory_model(enable.matrices);
    let mut matrices = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default().cooperative_matrix(true);
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&names)
        .enabled_features(&base)
        .push_next(&mut f11)
        .push_next(&mut f12);
    let info = if enable.matrices { info.push_next(&mut matrices) } else { info };
    let mut bfloat16 = Bfloat16Features::matrices();
    let info = if enable.bfloat16 { info.push_next(&mut bfloat16) } else { info };
    // SAFETY: `physical` is of this instance and everything `info` points to lives until the end of the function.
    unsafe { instance.table.create_device(physical, &info) }
}
