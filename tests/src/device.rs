//! Which Vulkan device the suites run on, and how it is opened.
//!
//! A test that needs a driver stands in a binary `device_*` or in a module `on_device`, which `cargo xtask test` leaves
//! out where no driver answers. Started all the same without one, it fails: a device that was promised is there.

use pumice_vulkan::{DeviceOptions, Instance, InstanceOptions, Pick, VulkanDevice};
use std::sync::{Arc, OnceLock};

/// An instance that lives as long as the test process. Without it the loader unloads drivers with the last instance,
/// and an open that fails (a validation layer that is missing) makes and drops one while other tests load them.
static DRIVERS: OnceLock<Option<Instance>> = OnceLock::new();

/// The best device of this machine, or the one that `PUMICE_TEST_DEVICE` names.
pub fn pick() -> Pick {
    std::env::var("PUMICE_TEST_DEVICE").map_or(Pick::Best, Pick::Name)
}

/// The device of [`open`] as a program has it.
///
/// # Panics
/// As [`open`].
pub fn facade() -> pumice::Device {
    pumice::Device::from_runtime(open(&DeviceOptions::default()), pumice::DeviceKind::Gpu)
}

/// Opens the device.
///
/// # Panics
/// If there is none, saying how to get one.
pub fn open(options: &DeviceOptions) -> Arc<VulkanDevice> {
    DRIVERS.get_or_init(keep_driver);
    match VulkanDevice::open(&pick(), options) {
        Ok(device) => Arc::new(device),
        Err(e) => panic!(
            "this test needs a Vulkan driver: a GPU's, or lavapipe (Debian, Ubuntu: mesa-vulkan-drivers; the \
             validation layer: vulkan-validationlayers): {e}"
        ),
    }
}

/// An instance that keeps the driver in the process while devices come and go: NVIDIA's cannot be loaded more than
/// about 29 times, because each time takes thread-local memory that is never given back.
pub fn keep_driver() -> Option<Instance> {
    Instance::new(&InstanceOptions::default()).ok()
}
