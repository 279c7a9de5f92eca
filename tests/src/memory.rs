//! What a process and a device hold, for tests that compare it with what they held before.

use pumice_vulkan::VulkanDevice;

/// What is alive on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alive {
    /// Bytes that sessions, weights and scratch take.
    pub device_bytes: u64,
    /// Bytes through which the host writes and reads.
    pub staging_bytes: u64,
    /// Allocations of the driver.
    pub allocations: u32,
}

impl Alive {
    /// On this device, now.
    pub fn on(device: &VulkanDevice) -> Alive {
        let memory = device.memory();
        Alive {
            device_bytes: memory.live_bytes().0,
            staging_bytes: memory.staging_bytes().0,
            allocations: memory.allocations(),
        }
    }
}

/// Bytes of the process that are in memory, where the system says so.
pub fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

/// How often a number of bytes is larger than the one before, by more than `noise`.
pub fn grows(hosts: &[Option<u64>], noise: u64) -> usize {
    hosts.windows(2).filter(|pair| pair[1] > pair[0].map(|before| before + noise)).count()
}
