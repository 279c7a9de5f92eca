//! Reads a [`Snapshot`] from a physical device.
//!
//! In: a handle. Out: plain data. No decision is taken here; a device older than Vulkan 1.2 is described as far as
//! its version allows, and refused elsewhere.

mod products;
mod units;

use super::calls::CallError;
use super::table::InstanceTable;
use crate::snapshot::{
    DeviceAbilities, DeviceKind, DeviceLimits, Heap, MemoryType, QueueFamily, Snapshot, Version,
};
use ash::vk;
use pumice_types::target::Features;
use std::ffi::CStr;

/// Everything pumice reads of one device.
pub(super) fn take_snapshot(
    table: &InstanceTable,
    device: vk::PhysicalDevice,
) -> Result<Snapshot, CallError> {
    let extensions = table.device_extensions(device)?;
    let core = Core::read(table, device, &extensions);
    let Core { base, v11, v12, f12, .. } = &core;
    let said = products::Said::take(table, device, base.api_version, &extensions)?;
    // SAFETY: `device` is of this instance.
    let (memory, families) = unsafe {
        (
            table.instance.get_physical_device_memory_properties(device),
            table.instance.get_physical_device_queue_family_properties(device),
        )
    };
    Ok(Snapshot {
        name: text(base.device_name_as_c_str().ok()),
        kind: kind(base.device_type),
        api: version(base.api_version),
        vendor_id: base.vendor_id,
        device_id: base.device_id,
        driver_version: base.driver_version,
        driver_name: text(v12.driver_name_as_c_str().ok()),
        driver_info: text(v12.driver_info_as_c_str().ok()),
        device_uuid: v11.device_uuid,
        driver_uuid: v11.driver_uuid,
        pipeline_cache_uuid: base.pipeline_cache_uuid,
        compute_units: units::said(table, device, base.api_version, &extensions),
        limits: limits(&base.limits, v11, core.max_buffer),
        abilities: abilities(f12, v12, said.of(core.usable())),
        extensions,
        queue_families: families.iter().map(family).collect(),
        memory_types: memory.memory_types_as_slice().iter().map(memory_type).collect(),
        heaps: memory.memory_heaps_as_slice().iter().map(heap).collect(),
    })
}

/// What core Vulkan says of a device: of one that is older than 1.2, what is of 1.2 is as if it had none of it.
struct Core {
    base: vk::PhysicalDeviceProperties,
    features: vk::PhysicalDeviceFeatures,
    v11: vk::PhysicalDeviceVulkan11Properties<'static>,
    v12: vk::PhysicalDeviceVulkan12Properties<'static>,
    f11: vk::PhysicalDeviceVulkan11Features<'static>,
    f12: vk::PhysicalDeviceVulkan12Features<'static>,
    /// The largest buffer, where the device says it.
    max_buffer: Option<u64>,
}

impl Core {
    fn read(table: &InstanceTable, device: vk::PhysicalDevice, extensions: &[String]) -> Core {
        let mut v11 = vk::PhysicalDeviceVulkan11Properties::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Properties::default();
        let mut maintenance4 = vk::PhysicalDeviceMaintenance4Properties::default();
        let mut f11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut f12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut features = vk::PhysicalDeviceFeatures::default();
        // SAFETY: `device` is of this instance; the structs of Vulkan 1.2 are chained only where the device knows them.
        let base = unsafe { table.instance.get_physical_device_properties(device) };
        let says_buffer_size = base.api_version >= vk::API_VERSION_1_2
            && (base.api_version >= vk::API_VERSION_1_3
                || extensions.iter().any(|e| e == "VK_KHR_maintenance4"));
        if base.api_version >= vk::API_VERSION_1_2 {
            let mut properties =
                vk::PhysicalDeviceProperties2::default().push_next(&mut v11).push_next(&mut v12);
            if says_buffer_size {
                properties = properties.push_next(&mut maintenance4);
            }
            let mut wanted = vk::PhysicalDeviceFeatures2::default().push_next(&mut f11).push_next(&mut f12);
            // SAFETY: as above.
            unsafe {
                table.instance.get_physical_device_properties2(device, &mut properties);
                table.instance.get_physical_device_features2(device, &mut wanted);
            }
            features = wanted.features;
        }
        let max_buffer = says_buffer_size.then_some(maintenance4.max_buffer_size);
        Core { base, features, v11, v12, f11, f12, max_buffer }
    }

    /// What kernels may use, as far as every device of Vulkan 1.2 says it.
    fn usable(&self) -> Features {
        let Core { features, v11, v12, f11, f12, .. } = self;
        let yes = |b: vk::Bool32| b == vk::TRUE;
        let compute = v11.subgroup_supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
        let subgroups = |operations| compute && v11.subgroup_supported_operations.contains(operations);
        Features {
            int64: yes(features.shader_int64),
            float16: yes(f12.shader_float16),
            storage16: yes(f11.storage_buffer16_bit_access),
            storage8: yes(f12.storage_buffer8_bit_access),
            subgroup_size: v11.subgroup_size,
            subgroup_arithmetic: subgroups(vk::SubgroupFeatureFlags::ARITHMETIC),
            subgroup_shuffle: subgroups(vk::SubgroupFeatureFlags::SHUFFLE),
            preserve_special_f32: yes(v12.shader_signed_zero_inf_nan_preserve_float32),
            preserve_subnormal_f32: yes(v12.shader_denorm_preserve_float32),
            int8: yes(f12.shader_int8),
            cpu: kind(self.base.device_type) == DeviceKind::Cpu,
            ..Features::default()
        }
    }
}

fn version(packed: u32) -> Version {
    let (major, minor) = (vk::api_version_major(packed), vk::api_version_minor(packed));
    Version(major, minor, vk::api_version_patch(packed))
}

/// Free bytes of every heap as the driver estimates them (VK_EXT_memory_budget, which the device must have).
pub(super) fn heap_budgets(table: &InstanceTable, device: vk::PhysicalDevice) -> Vec<u64> {
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
    // SAFETY: `device` is of this instance and knows the chained struct.
    unsafe { table.instance.get_physical_device_memory_properties2(device, &mut memory) };
    let heaps = memory.memory_properties.memory_heap_count as usize;
    budget.heap_budget.iter().zip(budget.heap_usage).take(heaps).map(|(b, u)| b.saturating_sub(u)).collect()
}

fn text(name: Option<&CStr>) -> String {
    name.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

fn kind(kind: vk::PhysicalDeviceType) -> DeviceKind {
    match kind {
        vk::PhysicalDeviceType::DISCRETE_GPU => DeviceKind::Discrete,
        vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceKind::Integrated,
        vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceKind::Virtual,
        vk::PhysicalDeviceType::CPU => DeviceKind::Cpu,
        _ => DeviceKind::Other,
    }
}

fn limits(
    base: &vk::PhysicalDeviceLimits,
    v11: &vk::PhysicalDeviceVulkan11Properties<'_>,
    max_buffer: Option<u64>,
) -> DeviceLimits {
    DeviceLimits {
        max_workgroup_count: base.max_compute_work_group_count,
        max_workgroup_size: base.max_compute_work_group_size,
        max_workgroup_invocations: base.max_compute_work_group_invocations,
        max_shared_memory: base.max_compute_shared_memory_size,
        max_push_constants: base.max_push_constants_size,
        max_storage_range: base.max_storage_buffer_range,
        max_storage_buffers: base.max_per_stage_descriptor_storage_buffers,
        max_allocation: v11.max_memory_allocation_size,
        max_buffer,
        max_allocation_count: base.max_memory_allocation_count,
        storage_offset_alignment: base.min_storage_buffer_offset_alignment,
        non_coherent_atom: base.non_coherent_atom_size,
        timestamp_period_ns: base.timestamp_period,
    }
}

/// What the device itself does for pumice.
fn abilities(
    f12: &vk::PhysicalDeviceVulkan12Features<'_>,
    v12: &vk::PhysicalDeviceVulkan12Properties<'_>,
    features: Features,
) -> DeviceAbilities {
    DeviceAbilities {
        buffer_device_address: f12.buffer_device_address == vk::TRUE,
        timeline_semaphore: f12.timeline_semaphore == vk::TRUE,
        round_to_nearest_f32: v12.shader_rounding_mode_rte_float32 == vk::TRUE,
        features,
    }
}

fn family(family: &vk::QueueFamilyProperties) -> QueueFamily {
    QueueFamily {
        count: family.queue_count,
        graphics: family.queue_flags.contains(vk::QueueFlags::GRAPHICS),
        compute: family.queue_flags.contains(vk::QueueFlags::COMPUTE),
        timestamp_bits: family.timestamp_valid_bits,
    }
}

fn memory_type(t: &vk::MemoryType) -> MemoryType {
    let has = |flag| t.property_flags.contains(flag);
    let odd = vk::MemoryPropertyFlags::PROTECTED
        | vk::MemoryPropertyFlags::LAZILY_ALLOCATED
        | vk::MemoryPropertyFlags::DEVICE_COHERENT_AMD
        | vk::MemoryPropertyFlags::DEVICE_UNCACHED_AMD;
    MemoryType {
        heap: t.heap_index,
        device_local: has(vk::MemoryPropertyFlags::DEVICE_LOCAL),
        host_visible: has(vk::MemoryPropertyFlags::HOST_VISIBLE),
        host_coherent: has(vk::MemoryPropertyFlags::HOST_COHERENT),
        host_cached: has(vk::MemoryPropertyFlags::HOST_CACHED),
        ordinary: !t.property_flags.intersects(odd),
    }
}

fn heap(heap: &vk::MemoryHeap) -> Heap {
    Heap { size: heap.size, device_local: heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL) }
}
