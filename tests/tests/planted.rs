//! Planted defects: kernels made wrong one at a time, each caught by the op suite on the samples of its ops.
//!
//! In descriptor form: a kernel without its bound reads outside of an operand, which by address may end the process.

mod on_device {
    use pumice_tests::device;
    use pumice_tests::op_suite::{Case, Outcome, PlainTwins, Runner, cases_of};
    use pumice_tests::planted::{DEFECTS, Defect, DefectiveKernels};
    use pumice_vulkan::{Addressing, DeviceOptions};
    use std::sync::Arc;

    const MOST_ELEMENTS: u64 = 1 << 16;

    fn runner(kernels: Option<Arc<DefectiveKernels>>) -> Runner {
        let mut options =
            DeviceOptions::default().addressing(Addressing::Descriptor).kernels(Arc::new(PlainTwins));
        if let Some(kernels) = kernels {
            options.kernels = kernels;
        }
        Runner::descriptor(device::open(&options), MOST_ELEMENTS)
    }

    /// How many samples show a defect, and how many do not.
    fn caught(defect: &Defect, cases: &[&Case]) -> (usize, usize) {
        let kernels = Arc::new(DefectiveKernels::new(*defect));
        let runner = runner(Some(kernels.clone()));
        let (mut shown, mut hidden) = (0, 0);
        for case in cases {
            match runner.run(case) {
                Outcome::Passed => hidden += 1,
                Outcome::Failed(why) => {
                    // A wrong result, not a module that the driver or the runtime refuses.
                    let wrong = why.contains("output") || why.contains("status reported");
                    assert!(wrong, "{}: {}: {why}", defect.name, case.name());
                    shown += 1;
                }
                Outcome::Excluded(_) => {}
            }
        }
        assert!(kernels.changed() > 0, "{}: nothing was changed", defect.name);
        (shown, hidden)
    }

    #[test]
    fn every_planted_defect_is_caught() {
        assert!(DEFECTS.len() >= 10);
        let _driver = device::keep_driver();
        let sound = runner(None);
        let mut missed = Vec::new();
        for defect in DEFECTS {
            let all = cases_of(|op| defect.ops.contains(&op));
            // Samples that a sound kernel fails prove nothing.
            let good: Vec<&Case> = all.iter().filter(|c| sound.run(c) == Outcome::Passed).collect();
            assert!(!good.is_empty(), "{}: no sample passes", defect.name);
            let (shown, hidden) = caught(defect, &good);
            println!("{shown:4} of {:4} samples show: {}", shown + hidden, defect.name);
            if shown == 0 {
                missed.push(defect.name);
            }
        }
        assert!(missed.is_empty(), "not caught: {missed:#?}");
    }
}
