//! The kernels that a device without subgroup operations gets, on whatever device is there: attention of a GPU,
//! products and attention of a CPU driver. Those with subgroups run in the suites `gpu_selection` and `op_suite`.

use pumice_tests::op_suite::{Runner, cases, run_all};
use pumice_types::Target;

/// What the evaluator can hold beside the others.
const ELEMENTS: u64 = 1 << 22;

mod on_device {
    use super::*;
    use pumice_tests::device;
    use pumice_tests::share::Share;
    use pumice_vulkan::DeviceOptions;

    fn all_pass(selecting_as: &Target, most: u64, ops: &[&str]) {
        let device = device::open(&DeviceOptions::default());
        let mut runner = Runner::selecting_as(device, selecting_as, most);
        runner.target.features.subgroup_arithmetic = false;
        runner.target.features.subgroup_shuffle = false;
        let cases = Share::of_environment().of(ops.iter().flat_map(|op| cases(Some(op))).collect());
        let summary = run_all(&runner, cases.iter().filter(|c| c.elements() <= most), |_, _| {});
        summary.print("no subgroup operations");
        assert!(summary.passed > 0 && summary.failed.is_empty(), "{:?}", summary.failed);
    }

    #[test]
    fn attention_of_a_gpu() {
        all_pass(&Target::h200(), ELEMENTS, &["attention", "attention_parts"]);
    }

    #[test]
    fn products_and_attention_of_a_cpu_driver() {
        all_pass(&Target::lavapipe(), 1 << 17, &["matmul", "linear", "attention"]);
    }
}
