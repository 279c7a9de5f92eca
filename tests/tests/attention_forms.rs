//! The attention kernels that a GPU without subgroup reductions gets, on whatever device is there: every sample of
//! `attention` and of its parts. Those with subgroups run in the suite `gpu_selection`.

use pumice_tests::op_suite::{Runner, cases, run_all};
use pumice_types::Target;

/// What the evaluator can hold beside the others.
const ELEMENTS: u64 = 1 << 22;

mod on_device {
    use super::*;
    use pumice_tests::device;
    use pumice_vulkan::DeviceOptions;

    #[test]
    fn without_subgroups() {
        let device = device::open(&DeviceOptions::default());
        let mut runner = Runner::selecting_as(device, &Target::h200(), ELEMENTS);
        runner.target.features.subgroup_arithmetic = false;
        runner.target.features.subgroup_shuffle = false;
        let cases =
            ["attention", "attention_parts"].into_iter().flat_map(|op| cases(Some(op))).collect::<Vec<_>>();
        let summary = run_all(&runner, &cases, |_, _| {});
        summary.print("no subgroup reductions");
        assert!(summary.passed > 0 && summary.failed.is_empty(), "{:?}", summary.failed);
    }
}
