//! How many compute units a device has, by the property structures of the vendors. Vulkan itself does not say it, and
//! Intel and Apple have no such structure.

use super::super::table::InstanceTable;
use ash::vk;

/// More units than any device will have; a driver that says more says nothing.
const MOST: u32 = 1 << 16;

/// Streaming multiprocessors (NVIDIA), active compute units (AMD), shader cores (Arm).
pub(super) fn said(
    table: &InstanceTable,
    device: vk::PhysicalDevice,
    api: u32,
    extensions: &[String],
) -> Option<u32> {
    let has = |name: &str| extensions.iter().any(|e| e == name);
    if api < vk::API_VERSION_1_2 {
        return None;
    }
    let asker = Asker { table, device };
    let nvidia = has("VK_NV_shader_sm_builtins").then(|| {
        let said: vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV<'_> = asker.ask();
        said.shader_sm_count
    });
    let active = has("VK_AMD_shader_core_properties2").then(|| {
        let said: vk::PhysicalDeviceShaderCoreProperties2AMD<'_> = asker.ask();
        said.active_compute_unit_count
    });
    let built = has("VK_AMD_shader_core_properties").then(|| {
        let said: vk::PhysicalDeviceShaderCorePropertiesAMD<'_> = asker.ask();
        let arrays = said.shader_engine_count.saturating_mul(said.shader_arrays_per_engine_count);
        arrays.saturating_mul(said.compute_units_per_shader_array)
    });
    let arm = has("VK_ARM_shader_core_builtins").then(|| {
        let said: vk::PhysicalDeviceShaderCoreBuiltinsPropertiesARM<'_> = asker.ask();
        said.shader_core_count
    });
    first([nvidia, active, built, arm])
}

/// The first number that a device can have.
fn first(said: [Option<u32>; 4]) -> Option<u32> {
    said.into_iter().flatten().find(|units| (1..=MOST).contains(units))
}

struct Asker<'a> {
    table: &'a InstanceTable,
    device: vk::PhysicalDevice,
}

impl Asker<'_> {
    /// A property structure, of whose extension the device has said that it has it.
    fn ask<P: vk::ExtendsPhysicalDeviceProperties2 + Default>(&self) -> P {
        let mut said = P::default();
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut said);
        // SAFETY: `device` is of this instance, of Vulkan 1.2 at least, and has the extension of the chained structure.
        unsafe { self.table.instance.get_physical_device_properties2(self.device, &mut all) };
        said
    }
}

#[cfg(test)]
mod tests {
    use super::first;

    /// Of AMD's two structures the active units come first; a driver that leaves one empty is asked for the other.
    #[test]
    fn the_first_possible_number_counts() {
        assert_eq!(first([None; 4]), None);
        assert_eq!(first([Some(132), None, None, None]), Some(132));
        assert_eq!(first([None, Some(60), Some(64), None]), Some(60));
        assert_eq!(first([None, Some(0), Some(64), None]), Some(64));
        assert_eq!(first([None, None, Some(u32::MAX), Some(10)]), Some(10));
    }
}
