//! The figures of a device: which it is used by, and that they can be measured on any.

mod common;

use common::*;
use pumice_types::Target;
use pumice_types::target::Figures;
use pumice_vulkan::{DeviceOptions, OpenError, Pick, Source, VulkanDevice};
use std::fs;

/// A CPU driver has the figures of its profile; its folder holds pipelines alone.
#[test]
fn a_cpu_driver_is_not_measured() {
    let folder = std::env::temp_dir().join(format!("pumice-device-figures-{}", std::process::id()));
    let device = open(&DeviceOptions::default().cache_dir(folder.clone()));
    if device.snapshot().kind == pumice_vulkan::snapshot::DeviceKind::Cpu {
        assert_eq!(device.device_plan().target.tuning, Target::lavapipe().tuning);
        assert_eq!(device.device_plan().figures.rates, Source::Profile);
        assert!(!folder.join(device.cache_file_name("figures")).exists(), "nothing is measured");
    }
    drop(device);
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn given_figures_are_those_of_the_device() {
    let figures = Figures { compute_units: Some(3), bytes_per_us: Some(5e5), ..Figures::default() };
    let device = open(&DeviceOptions::default().figures(figures));
    let plan = device.device_plan();
    assert_eq!((plan.target.tuning.compute_units, plan.target.tuning.bytes_per_us), (3, 5e5));
    assert_eq!(plan.figures.given, ["compute_units", "bytes_per_us"]);
    let wrong = Figures { level_us: Some(0.0), ..Figures::default() };
    let refused = VulkanDevice::open(&Pick::Best, &DeviceOptions::default().figures(wrong));
    assert!(matches!(refused.map(|_| ()), Err(OpenError::Figure(e)) if e.name == "level_us"));
}

#[test]
fn a_given_table_is_that_of_the_device() {
    let table = Target::gpu_table();
    let device = open(&DeviceOptions::default().table(table.clone()));
    assert_eq!(device.device_plan().target.table, table);
}

/// Every kernel and list of a measurement runs; the numbers are the machine's.
#[test]
fn a_device_is_measured() {
    let device = open(&DeviceOptions::default());
    let figures = device.measure().expect("it has timestamps");
    assert_eq!(figures.check(), Ok(()));
    assert!(figures.has_every_rate(), "{figures:?}");
    assert!(figures.compute_units.is_some());
    println!("{}", figures.over(&device.device_plan().target.tuning));
}
