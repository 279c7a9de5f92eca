//! Which kernels the graphs of S1, F8 and G15 get, in full size, on a device or on a target that need not be there.
//! Nothing runs.

use crate::rig::Rig;
use crate::row::Outcome;
use crate::{Args, Case, Spelled, backward, of_kernels};
use pumice::{OptOptions, Options};
use pumice_plan::{Plan, StepKind};
use pumice_types::Target;

/// Prints a case a line: its name, and `kernel.variant constants grid` of each step, in order.
///
/// # Errors
/// A target or device that there is not, a graph that does not compile.
pub fn print(args: &Args, target: &str) -> Outcome {
    let target = match target {
        "" => Rig::open(args)?.device.target().clone(),
        name => Target::profile(name).ok_or_else(|| format!("`{name}` is no target: h200, lavapipe"))?,
    };
    println!("{}: {}; table {}", target.name, target.tuning, target.table.id());
    let mut cases = of_kernels(true)?;
    cases.extend(backward::cases(true)?);
    cases.retain(|case| case.is_wanted(&args.only));
    for (name, kernels) in of(&target, cases)? {
        println!("{name}: {}", kernels.join("; "));
    }
    Ok(())
}

/// Cases by name with their kernels.
fn of(target: &Target, cases: Vec<Case>) -> Outcome<Vec<(String, Vec<String>)>> {
    let mut all = Vec::new();
    for case in cases {
        let Some(graph) = &case.graph else { continue };
        let Spelled { graph, fused } = graph()?;
        let opt = if fused { OptOptions::default() } else { OptOptions::none() };
        let plan = pumice::plan(&graph, target, &Options::default().opt(opt))?;
        all.push((case.name, kernels(&plan)));
    }
    Ok(all)
}

fn kernels(plan: &Plan) -> Vec<String> {
    let steps = plan.runs.iter().flat_map(|r| &r.program.steps);
    let mut all: Vec<String> = Vec::new();
    for step in steps {
        if let StepKind::Dispatch { call, grid } = &step.kind {
            all.push(format!("{}.{} {:?} {grid:?}", call.kernel, call.variant, call.spec));
        }
    }
    // The 2,000 steps of a chain are one.
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::target::Features;
    use pumice_vulkan::snapshot::DeviceKind;
    use pumice_vulkan::{DevicePlan, Snapshot};

    fn snapshot() -> Snapshot {
        let text = include_str!("../../../crates/vulkan/tests/snapshots/h200.json");
        serde_json::from_str(text).expect("a snapshot")
    }

    fn kernels_of(target: &Target) -> Vec<(String, Vec<String>)> {
        of(target, of_kernels(true).expect("committed lists")).expect("every case compiles")
    }

    /// An H200 under a name that nobody knows gets the kernels that were measured to be best on it: the rows of the
    /// table `gpu` say their conditions in compute units and rates, and the rates are estimated from the units.
    #[test]
    fn a_card_without_a_name_gets_the_kernels_of_its_like() {
        let known = DevicePlan::new(&snapshot()).expect("usable").target;
        let unknown = Snapshot { name: "Some GPU".into(), ..snapshot() };
        let unknown = DevicePlan::new(&unknown).expect("usable").target;
        assert_eq!((known.table.class.as_str(), unknown.table.class.as_str()), ("h200", "gpu"));
        let [known, unknown] = [known, unknown].map(|target| kernels_of(&target));
        assert!(known.len() > 60, "{}", known.len());
        for (known, unknown) in known.iter().zip(&unknown) {
            assert_eq!(known, unknown);
        }
    }

    /// The rows ask for nothing that a GPU may lack: what has only what every device has gets a kernel for each case.
    #[test]
    fn the_least_gpu_gets_kernels() {
        let mut least = Snapshot { name: "Some GPU".into(), kind: DeviceKind::Integrated, ..snapshot() };
        least.compute_units = None;
        least.limits.max_shared_memory = 32 << 10;
        least.limits.max_workgroup_invocations = 256;
        let features = Features { subgroup_size: 16, ..Features::default() };
        least.abilities.features = features;
        let least = DevicePlan::new(&least).expect("usable").target;
        assert_eq!((least.table.class.as_str(), least.tuning.compute_units), ("gpu", 8));
        assert!(kernels_of(&least).len() > 60);
    }

    /// As the H200, with 80 GB, and so a slower memory: its rate weighs the sum of parts of k and the steps of a
    /// reduction, and is not so much slower that any of them changes.
    #[test]
    fn another_rate_of_memory_changes_no_kernel() {
        let mut h100 = Snapshot { name: "NVIDIA H100 80GB HBM3".into(), ..snapshot() };
        h100.heaps[0].size = 80 << 30;
        let h100 = DevicePlan::new(&h100).expect("usable").target;
        let pairs = kernels_of(&Target::h200()).into_iter().zip(kernels_of(&h100));
        let unlike: Vec<String> = pairs.filter(|(a, b)| a != b).map(|(a, _)| a.0).collect();
        assert_eq!(unlike, Vec::<String>::new());
    }
}
