//! What a machine has for pumice, what it lacks, what that costs, and how to get it.
//!
//! In: the loader and the drivers of this machine. Out: findings as plain data; nothing is printed or installed here.

use crate::device::{DeviceReport, reports};
use crate::error::OpenError;
use crate::raw::{Instance, InstanceError, InstanceOptions, Validation};
use crate::snapshot::DeviceKind;
use pumice_types::target::Features;
use std::path::Path;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// As it should be.
    Good,
    /// A defect of the driver that pumice works around.
    Handled,
    /// Works, with a cost.
    Costs,
    /// Does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// What was found.
    pub what: String,
    /// What it costs; empty where nothing.
    pub cost: String,
    /// How to get it; empty where there is nothing to do.
    pub remedy: String,
}

const GET_DRIVER: &str = "Debian, Ubuntu: apt install mesa-vulkan-drivers; Fedora: dnf install mesa-vulkan-drivers; \
     Arch: pacman -S vulkan-swrast (CPU) or the package of your GPU; NVIDIA: its own driver; macOS: MoltenVK; \
     Windows: the vendor's graphics driver";
/// For who runs a driver on the CPU already: that one is no remedy.
const GET_GPU: &str = "if this machine has a GPU: NVIDIA: its own driver; AMD, Intel: Mesa's for that GPU, and the right to \
     open /dev/dri/renderD*; macOS: MoltenVK; Windows: the vendor's graphics driver. Without a GPU there is nothing to install";
const UPDATE: &str = "update the driver; some devices never have it";
const GET_LOADER: &str = "Debian, Ubuntu: apt install libvulkan1; Fedora: dnf install vulkan-loader; Arch: pacman -S \
     vulkan-icd-loader; macOS: the Vulkan SDK; Windows: the vendor's graphics driver";
const GET_LAYER: &str = "Debian, Ubuntu: apt install vulkan-validationlayers; Fedora: dnf install \
     vulkan-validation-layers; Arch: pacman -S vulkan-validation-layers";

fn finding(weight: Weight, what: impl Into<String>, cost: &str, remedy: &str) -> Finding {
    Finding { weight, what: what.into(), cost: cost.to_owned(), remedy: remedy.to_owned() }
}

/// Everything there is to say about this machine's Vulkan; with a folder, by the figures that are kept there.
pub fn diagnose(cache: Option<&Path>) -> Vec<Finding> {
    let instance = match Instance::new(&InstanceOptions::default()) {
        Ok(instance) => instance,
        Err(error) => return vec![no_instance(&error)],
    };
    let mut findings = vec![finding(Weight::Good, "the Vulkan loader works", "", "")];
    match reports(&instance) {
        Ok(list) if list.is_empty() => findings.push(no_instance(&InstanceError::NoDriver)),
        Ok(list) => list.into_iter().for_each(|report| {
            let report = match cache {
                Some(folder) => report.kept_in(folder),
                None => report,
            };
            describe(&report, &mut findings);
        }),
        Err(error) => findings.push(broken(&error)),
    }
    findings.push(match has_validation_layer() {
        true => finding(Weight::Good, "the Khronos validation layer is installed", "", ""),
        false => finding(
            Weight::Costs,
            "the Khronos validation layer is not installed",
            "only pumice's own tests need it",
            GET_LAYER,
        ),
    });
    findings
}

/// Whether devices can be opened under validation.
pub fn has_validation_layer() -> bool {
    let validation = InstanceOptions { validation: Validation::Synchronization, ..Default::default() };
    Instance::new(&validation).is_ok()
}

fn broken(error: &OpenError) -> Finding {
    finding(Weight::Broken, error.to_string(), "plans run on the CPU interpreter, slowly", GET_DRIVER)
}

fn no_instance(error: &InstanceError) -> Finding {
    let remedy = match error {
        InstanceError::NoLoader(_) | InstanceError::LoaderTooOld { .. } => GET_LOADER,
        _ => GET_DRIVER,
    };
    finding(Weight::Broken, error.to_string(), "plans run on the CPU interpreter, slowly", remedy)
}

/// What is said about one device.
pub fn describe(report: &DeviceReport, findings: &mut Vec<Finding>) {
    let s = &report.snapshot;
    let name = format!("device {}: {}", report.index, s.name);
    match &report.verdict {
        Err(refusals) => {
            for refusal in refusals {
                let what = format!("{name} cannot be used: {refusal}");
                findings.push(finding(Weight::Broken, what, "the device is left out", UPDATE));
            }
            return;
        }
        Ok(_) => {
            let what = format!("{name}, Vulkan {}, driver {}", s.api, s.driver());
            findings.push(finding(Weight::Good, what, "", ""));
            findings.push(finding(Weight::Good, format!("{name}: {}", limits(report)), "", ""));
            findings.push(finding(Weight::Good, format!("{name}: {}", multiplies(report)), "", ""));
            findings.push(finding(Weight::Good, format!("{name}: {}", figures(report)), "", ""));
        }
    }
    for quirk in crate::quirks::of(s) {
        let what = format!("{name}: {} ({}); pumice: {}", quirk.what, quirk.name, quirk.answer);
        findings.push(finding(Weight::Handled, what, "", ""));
    }
    costs_of(report, &name, findings);
}

/// What a device lacks, with what that costs.
fn costs_of(report: &DeviceReport, name: &str, findings: &mut Vec<Finding>) {
    let s = &report.snapshot;
    let mut costs = |missing: bool, what: &str, cost: &str, remedy: &str| {
        if missing {
            findings.push(finding(Weight::Costs, format!("{name}: {what}"), cost, remedy));
        }
    };
    costs(s.kind == DeviceKind::Cpu, "it computes on the CPU", "10 to 1000 times slower than a GPU", GET_GPU);
    let a = &s.abilities.features;
    costs(!a.int64, "no 64-bit integers in kernels", "i64 values go to the host", UPDATE);
    let timed = report.verdict.as_ref().is_ok_and(|plan| plan.timestamps);
    costs(!timed, "no timestamps", "times of runs and steps cannot be taken", UPDATE);
    costs(!a.subgroup_arithmetic, "no subgroup reductions", "slower reductions and norms", UPDATE);
    costs(!a.subgroup_shuffle, "no subgroup shuffles", "slower attention", UPDATE);
    costs(!a.preserve_special_f32, "NaN and infinity are not promised", "special values may differ", UPDATE);
    costs(
        !s.has_extension("VK_EXT_memory_budget"),
        "free memory cannot be asked for",
        "memory that other programs take is seen only when an allocation fails",
        UPDATE,
    );
    let window = s.memory_types.iter().any(|t| t.device_local && t.host_visible);
    costs(
        !window,
        "the host cannot write device memory",
        "inputs are read over the bus",
        "switch on resizable BAR in the firmware",
    );
}

fn dot_products(f: &Features) -> String {
    let dots = [
        (f.dot_product.signed, "signed"),
        (f.dot_product.unsigned, "unsigned"),
        (f.dot_product.mixed, "mixed"),
    ];
    let dots: Vec<&str> = dots.into_iter().filter(|(fast, _)| *fast).map(|(_, name)| name).collect();
    match (f.dot_product.offered, dots.is_empty()) {
        (false, _) => "no 8-bit dot product".to_owned(),
        (true, true) => "8-bit dot product emulated".to_owned(),
        (true, false) => format!("8-bit dot product in hardware ({})", dots.join(", ")),
    }
}

/// What a device can multiply beside f32, and how its subgroups are.
fn multiplies(report: &DeviceReport) -> String {
    let Ok(plan) = &report.verdict else { return String::new() };
    let f = &plan.target.features;
    let dots = dot_products(f);
    let has = |there: bool, what: &str| format!("{}{what}", if there { "" } else { "no " });
    let shapes: Vec<String> = f.matrices.iter().map(ToString::to_string).collect();
    let shapes = if shapes.is_empty() { "none".to_owned() } else { shapes.join("; ") };
    let asked = if f.subgroup_size_control { "can be asked for" } else { "as the driver likes" };
    format!(
        "{}, {}, {}, {}, {dots}; subgroups of {} to {}, {asked}; cooperative matrices: {shapes}",
        has(f.float16, "f16 arithmetic"),
        has(f.int8, "8-bit arithmetic"),
        has(f.storage16, "16-bit storage"),
        has(f.storage8, "8-bit storage"),
        f.least_subgroup_size.max(1).min(f.subgroup_size),
        f.most_subgroup_size.max(f.subgroup_size),
    )
}

/// The figures by which kernels are chosen, and where they are from.
fn figures(report: &DeviceReport) -> String {
    let Ok(plan) = &report.verdict else { return String::new() };
    format!("{} ({}); table {}", plan.target.tuning, plan.figures, plan.target.table.id())
}

/// The limits that decide what fits and which kernels run.
fn limits(report: &DeviceReport) -> String {
    let Ok(plan) = &report.verdict else { return String::new() };
    let l = &plan.target.limits;
    format!(
        "{} of memory, {} in one allocation, {} threads and {} of shared memory a workgroup, subgroups of {}",
        l.memory,
        l.max_allocation,
        l.max_workgroup_invocations,
        l.max_shared_memory,
        plan.target.features.subgroup_size
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_plan::DevicePlan;
    use crate::snapshot::Snapshot;

    #[test]
    fn what_is_missing_has_a_cost_and_a_remedy() {
        let mut snapshot: Snapshot =
            serde_json::from_str(include_str!("../tests/snapshots/h200.json")).unwrap();
        snapshot.abilities.features.int64 = false;
        snapshot.memory_types.truncate(4);
        let report = DeviceReport { index: 0, verdict: DevicePlan::new(&snapshot), snapshot };
        let mut findings = Vec::new();
        describe(&report, &mut findings);
        let costs: Vec<_> = findings.iter().filter(|f| f.weight == Weight::Costs).collect();
        assert_eq!(costs.len(), 2);
        let quirks: Vec<_> = findings.iter().filter(|f| f.what.contains("; pumice: ")).collect();
        assert!(quirks.iter().any(|f| f.what.contains("float controls")) && quirks.len() >= 3, "{quirks:?}");
        assert!(quirks.iter().all(|f| f.weight == Weight::Handled), "defects are not good: {quirks:?}");
        let limits = &findings[1];
        assert!(
            limits.weight == Weight::Good && limits.what.contains("1024 threads and 48.0 KiB"),
            "{}",
            limits.what
        );
        let multiplies = &findings[2].what;
        for what in [
            ": f16 arithmetic",
            "in hardware (signed, unsigned, mixed)",
            "subgroups of 32 to 32, can be asked for",
        ] {
            assert!(multiplies.contains(what), "{multiplies}");
        }
        let figures = &findings[3].what;
        assert!(figures.contains("132 compute units") && figures.contains("table h200:"), "{figures}");
        assert!(costs.iter().all(|f| !f.cost.is_empty() && !f.remedy.is_empty()));
    }

    /// lavapipe was told to install lavapipe.
    #[test]
    fn a_driver_that_runs_is_no_remedy() {
        let snapshot: Snapshot =
            serde_json::from_str(include_str!("../tests/snapshots/lavapipe-22.3.json")).unwrap();
        let report = DeviceReport { index: 0, verdict: DevicePlan::new(&snapshot), snapshot };
        let mut findings = Vec::new();
        describe(&report, &mut findings);
        assert!(findings.iter().any(|f| f.what.ends_with("it computes on the CPU")), "{findings:?}");
        let names_it = |f: &Finding| f.remedy.contains("mesa-vulkan-drivers") || f.remedy.contains("swrast");
        assert!(!findings.iter().any(names_it), "{findings:?}");
    }
}
