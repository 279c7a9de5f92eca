//! Planted defects: kernels made wrong one at a time, each caught by the op suite on the samples of its ops.
//!
//! What CPU drivers get is tried in descriptor form: a kernel without its bound reads outside of an operand, which by
//! address may end the process. What GPUs get is tried by address, on a device that selects as an H200.

mod on_device {
    use pumice_tests::device;
    use pumice_tests::op_suite::{Case, Outcome, PlainTwins, Runner, cases_of};
    use pumice_tests::planted::{DEFECTS, Defect, DefectiveKernels, GPU_DEFECTS};
    use pumice_types::Target;
    use pumice_vulkan::{Addressing, CheckedInKernels, DeviceOptions, KernelSource};
    use std::sync::Arc;

    const MOST_ELEMENTS: u64 = 1 << 16;
    /// Samples that show a defect, after which no more are run: every kernel of every sample is built anew.
    const ENOUGH: usize = 1;

    fn plain(kernels: Arc<dyn KernelSource>) -> Runner {
        let options = DeviceOptions::default().addressing(Addressing::Descriptor).kernels(kernels);
        Runner::descriptor(device::open(&options), MOST_ELEMENTS)
    }

    fn gpu(kernels: Arc<dyn KernelSource>) -> Runner {
        let device = device::open(&DeviceOptions::default().kernels(kernels));
        Runner::selecting_as(device, &Target::h200(), MOST_ELEMENTS)
    }

    /// How many samples that the sound runner passes show a defect, and how many do not.
    fn caught(
        defect: &Defect,
        kernels: &DefectiveKernels,
        runner: &Runner,
        sound: &Runner,
    ) -> (usize, usize) {
        let (mut shown, mut hidden) = (0, 0);
        for case in cases_of(|op| defect.ops.contains(&op)) {
            if !takes(sound, &case, defect) {
                continue;
            }
            match runner.run(&case) {
                Outcome::Passed => hidden += 1,
                // Samples that a sound kernel fails prove nothing.
                Outcome::Failed(why) if sound.run(&case) == Outcome::Passed => {
                    // A wrong result, not a module that the driver or the runtime refuses.
                    let wrong = why.contains("output") || why.contains("status reported");
                    assert!(wrong, "{}: {}: {why}", defect.name, case.name());
                    shown += 1;
                }
                Outcome::Failed(_) | Outcome::Excluded(_) => {}
            }
            if shown == ENOUGH {
                break;
            }
        }
        assert!(kernels.changed() > 0, "{}: nothing was changed", defect.name);
        (shown, hidden)
    }

    /// Whether the plan of a sample runs the defective kernel.
    fn takes(runner: &Runner, case: &Case, defect: &Defect) -> bool {
        let Ok(graph) = &case.sample.graph else { return false };
        if case.elements() > MOST_ELEMENTS {
            return false;
        }
        runner.plan(graph).is_ok_and(|plan| {
            let kernels = pumice_tests::op_suite::kernels(&plan);
            kernels.iter().any(|k| k.starts_with(defect.kernel))
        })
    }

    fn all_are_caught(
        defects: &[Defect],
        sound: impl Fn() -> Arc<dyn KernelSource>,
        runner: fn(Arc<dyn KernelSource>) -> Runner,
    ) {
        assert!(defects.len() >= 10);
        let _driver = device::keep_driver();
        let (reference, mut missed) = (runner(sound()), Vec::new());
        for defect in defects {
            let kernels = Arc::new(DefectiveKernels::of(sound(), *defect));
            let (shown, hidden) = caught(defect, &kernels, &runner(kernels.clone()), &reference);
            println!("{shown:4} of {:4} samples show: {}", shown + hidden, defect.name);
            if shown == 0 {
                missed.push(defect.name);
            }
        }
        assert!(missed.is_empty(), "not caught: {missed:#?}");
    }

    #[test]
    fn every_planted_defect_is_caught() {
        all_are_caught(DEFECTS, || Arc::new(PlainTwins), plain);
    }

    #[test]
    fn every_defect_planted_into_a_kernel_for_gpus_is_caught() {
        all_are_caught(GPU_DEFECTS, || Arc::new(CheckedInKernels), gpu);
    }
}
