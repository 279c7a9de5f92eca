//! The attention kernels that a GPU gets, on whatever device is there: every sample of `attention`, compiled as for a
//! device that is no CPU, with subgroup reductions and without.

use pumice_tests::op_suite::{Runner, cases, run_all};

/// What the evaluator can hold beside the others.
const ELEMENTS: u64 = 1 << 22;

mod on_device {
    use super::*;
    use pumice_tests::device;
    use pumice_vulkan::DeviceOptions;

    fn all_pass(what: &str, subgroups: bool) {
        let mut runner = Runner::new(device::open(&DeviceOptions::default()), ELEMENTS);
        runner.target.features.cpu = false;
        runner.target.features.subgroup_shuffle &= subgroups;
        let cases = cases(Some("attention"));
        let summary = run_all(&runner, &cases, |_, _| {});
        summary.print(what);
        assert!(summary.passed > 0 && summary.failed.is_empty(), "{what}: {:?}", summary.failed);
    }

    #[test]
    fn with_subgroups() {
        all_pass("subgroup reductions", true);
    }

    #[test]
    fn without_subgroups() {
        all_pass("no subgroup reductions", false);
    }
}
