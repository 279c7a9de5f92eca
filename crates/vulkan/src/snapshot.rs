//! What a Vulkan device says of itself, as plain data.
//!
//! Taken from a driver once (`raw::snapshot`), or read from a file; everything that follows from it (queue, features,
//! memory types, target, reasons for refusal) is decided by `device_plan` without a device.

use pumice_types::target::Features;
use serde::{Deserialize, Serialize};

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares the host's memory.
    Integrated,
    /// A GPU given to a virtual machine.
    Virtual,
    /// A driver that computes on the CPU.
    Cpu,
    /// Anything else.
    Other,
}

/// A Vulkan version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version(pub u32, pub u32, pub u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A queue family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueFamily {
    /// Number of queues.
    pub count: u32,
    /// Draws.
    pub graphics: bool,
    /// Runs kernels (and so copies too).
    pub compute: bool,
    /// Bits of a timestamp; 0 where there are none.
    pub timestamp_bits: u32,
}

/// A memory heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// Bytes.
    pub size: u64,
    /// Whether it is the device's own.
    pub device_local: bool,
}

/// A memory type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryType {
    /// Its heap.
    pub heap: u32,
    /// Fast for the device.
    pub device_local: bool,
    /// The host can map it.
    pub host_visible: bool,
    /// No flush or invalidate is needed.
    pub host_coherent: bool,
    /// Fast for the host to read.
    pub host_cached: bool,
    /// Neither protected, lazily allocated nor device-coherent: fit for ordinary buffers.
    pub ordinary: bool,
}

/// Limits that pumice asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceLimits {
    /// Workgroups per dispatch and dimension.
    pub max_workgroup_count: [u32; 3],
    /// Threads of a workgroup per dimension.
    pub max_workgroup_size: [u32; 3],
    /// Threads of a workgroup.
    pub max_workgroup_invocations: u32,
    /// Shared memory of a workgroup, in bytes.
    pub max_shared_memory: u32,
    /// Bytes of push constants.
    pub max_push_constants: u32,
    /// Bytes one storage buffer descriptor can cover.
    pub max_storage_range: u32,
    /// Storage buffers of one stage.
    pub max_storage_buffers: u32,
    /// Largest allocation, in bytes.
    pub max_allocation: u64,
    /// Largest buffer, in bytes; `None` where the device does not say (before Vulkan 1.3, without
    /// VK_KHR_maintenance4).
    pub max_buffer: Option<u64>,
    /// Allocations that may be alive at a time.
    pub max_allocation_count: u32,
    /// Alignment of a storage buffer descriptor's offset.
    pub storage_offset_alignment: u64,
    /// Granularity of flush and invalidate.
    pub non_coherent_atom: u64,
    /// Nanoseconds of one timestamp tick.
    pub timestamp_period_ns: f32,
}

/// Abilities that pumice asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceAbilities {
    /// 64-bit buffer addresses in kernels.
    pub buffer_device_address: bool,
    /// Timeline semaphores.
    pub timeline_semaphore: bool,
    /// f32 results can be asked to be rounded to nearest even.
    pub round_to_nearest_f32: bool,
    /// What kernels may use; whether the device is a CPU, its kind says.
    #[serde(flatten)]
    pub features: Features,
}

/// Everything pumice reads of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The driver's name for the device.
    pub name: String,
    /// Its kind.
    pub kind: DeviceKind,
    /// Vulkan version it speaks.
    pub api: Version,
    /// PCI vendor.
    pub vendor_id: u32,
    /// PCI device.
    pub device_id: u32,
    /// Driver version, encoded as the vendor likes.
    pub driver_version: u32,
    /// The driver's name.
    pub driver_name: String,
    /// The driver's own words on its version.
    pub driver_info: String,
    /// Identity of the device.
    pub device_uuid: [u8; 16],
    /// Identity of the driver.
    pub driver_uuid: [u8; 16],
    /// Identity of what pipeline caches are good for.
    pub pipeline_cache_uuid: [u8; 16],
    /// Compute units (streaming multiprocessors, compute units, cores), where an extension of the vendor says them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_units: Option<u32>,
    /// Limits.
    pub limits: DeviceLimits,
    /// Abilities.
    pub abilities: DeviceAbilities,
    /// Extensions.
    pub extensions: Vec<String>,
    /// Queue families.
    pub queue_families: Vec<QueueFamily>,
    /// Memory types.
    pub memory_types: Vec<MemoryType>,
    /// Memory heaps.
    pub heaps: Vec<Heap>,
}

impl Snapshot {
    /// Whether the device offers an extension.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.iter().any(|e| e == name)
    }

    /// The driver beside the device's name: its own name only where the device's does not hold it already.
    pub fn driver(&self) -> String {
        let holds = self.name.to_lowercase().contains(&self.driver_name.to_lowercase());
        if holds { self.driver_info.clone() } else { format!("{} {}", self.driver_name, self.driver_info) }
    }

    /// The device's identity in the form people paste: 32 hexadecimal digits.
    pub fn uuid_text(&self) -> String {
        self.device_uuid.iter().map(|b| format!("{b:02x}")).collect()
    }
}
