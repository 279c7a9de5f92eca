//! D4: random convolutions and pools with all attributes, on the interpreter and on Vulkan, against the evaluator.

use pumice_tests::graphs::windows::Asked;
use pumice_types::Target;

/// Nothing is wrong with any of these programs.
fn none_is_wrong(asked: &Asked, seeds: std::ops::Range<u64>) {
    let wrong: Vec<String> = seeds.filter_map(|seed| asked.try_seed(seed).err()).collect();
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// An H200 of one compute unit: it selects large tiles for small sizes.
fn small_gpu() -> Target {
    let mut target = Target::h200();
    target.tuning.compute_units = 1;
    target
}

mod on_interpreter {
    use super::*;
    use pumice_cpu_ref::Interpreter;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    fn asked(target: Target) -> Asked {
        Asked::of(Arc::new(Interpreter::new(target)), None)
    }

    #[test]
    fn random_windows() {
        none_is_wrong(&asked(Target::lavapipe()), 0..400);
    }

    /// Every kernel of convolutions and pools of floats is planned for some of them.
    #[test]
    fn every_kernel_occurs() {
        let used: BTreeSet<String> = [Target::lavapipe(), small_gpu()]
            .into_iter()
            .flat_map(|target| {
                let asked = asked(target);
                (0..400).flat_map(move |seed| asked.kernels(seed)).collect::<Vec<_>>()
            })
            .map(|kernel| kernel.split('.').next().unwrap_or_default().to_owned())
            .collect();
        let of_pools = ["pool", "pool_places", "pool_spread", "pool_spread_cells"];
        let of_convolutions = ["conv_direct", "conv_lines", "conv_spread", "conv_tile", "conv_spread_tile"];
        for kernel in of_convolutions.into_iter().chain(of_pools) {
            assert!(used.contains(kernel), "{kernel}: {used:?}");
        }
    }
}

mod on_device {
    use super::*;
    use pumice_tests::Fixture;

    #[test]
    fn random_windows() {
        none_is_wrong(&Asked::of(Fixture::vulkan().device, None), 0..120);
    }

    #[test]
    fn random_windows_of_a_gpu() {
        none_is_wrong(&Asked::of(Fixture::vulkan().device, Some(&Target::h200())), 0..60);
    }

    #[test]
    #[ignore = "long: large tiles take a CPU driver seconds to build"]
    fn random_windows_of_a_small_gpu() {
        none_is_wrong(&Asked::of(Fixture::vulkan().device, Some(&small_gpu())), 0..400);
    }
}
