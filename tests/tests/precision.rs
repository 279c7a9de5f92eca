//! Suite 14: every sample that multiplies, in precisions F16 and Bf16, against the evaluator that rounds its factors
//! (T3).

use pumice_ir::Op;
use pumice_tests::op_suite::{Case, Outcome, Runner, cases_of, run_all};
use pumice_tests::share::Share;
use pumice_types::Precision;

/// Values larger than this say nothing new of an interpreted plan.
const INTERPRETED: u64 = 1 << 17;
/// What a CPU driver computes in seconds.
const VULKAN: u64 = 1 << 20;
/// What the evaluator can hold beside the others.
const GPU: u64 = 1 << 26;

/// The samples of these ops that multiply.
fn products(precision: Precision, wanted: impl Fn(&str) -> bool) -> Vec<Case> {
    let cases = cases_of(wanted).into_iter().filter(Case::has_products);
    cases.map(|case| case.in_precision(precision)).collect()
}

/// Runs the samples of these ops in a precision; of all there are at least so many.
fn run(runner: &Runner, precision: Precision, wanted: impl Fn(&str) -> bool, least: usize) {
    let share = Share::of_environment();
    let (cases, least) = (share.of(products(precision, wanted)), share.part_of(least));
    let summary = run_all(runner, &cases, |_, _| {});
    summary.print(precision.name());
    assert_eq!(summary.failed, Vec::new());
    assert!(summary.passed >= least, "{} of {} samples were run", summary.passed, cases.len());
}

/// Ops with samples that multiply stand in one of the parts below.
#[test]
fn no_product_is_left_out() {
    let named = |op: &str| PARTS.iter().any(|part| part.contains(&op));
    let other: Vec<&str> = products(Precision::F16, |op| !named(op)).iter().map(|case| case.op).collect();
    assert_eq!(other, Vec::<&str>::new());
    assert!(Op::NAMES.contains(&"matmul"));
}

const PARTS: [&[&str]; 4] = [
    &["matmul", "linear", "fused", "kv_append", "grouped_matmul", "extent_of", "if"],
    &["dequantize", "dequantize_linear"],
    &["conv", "conv_transpose", "batch_norm"],
    &["attention", "attention_parts", "attention_grad"],
];

#[test]
fn on_interpreter() {
    run(&Runner::interpreter(INTERPRETED), Precision::F16, |_| true, 900);
}

#[test]
fn on_interpreter_in_bf16() {
    run(&Runner::interpreter(INTERPRETED), Precision::Bf16, |_| true, 900);
}

/// The reference of a precision is another one: exact plans fail it.
#[test]
fn exact_products_are_told_from_rounded_ones() {
    let runner = Runner::interpreter(INTERPRETED);
    let unlike = |case: &Case| {
        let graph = case.sample.graph.as_ref().expect("a graph");
        matches!(runner.run_against(case, graph, Precision::Exact), Outcome::Failed(_))
    };
    for precision in [Precision::F16, Precision::Bf16] {
        let cases = products(precision, |op| op == "linear");
        let distinct = cases.iter().filter(|case| unlike(case)).count();
        assert!(distinct * 2 > cases.len(), "{precision}: {distinct} of {}", cases.len());
    }
}

mod on_device {
    use super::*;
    use pumice_tests::device;
    use pumice_vulkan::DeviceOptions;

    fn run_on(part: usize, least: usize) {
        let device = device::open(&DeviceOptions::default());
        let most = if device.device_plan().target.features.cpu { VULKAN } else { GPU };
        run(&Runner::new(device, most), Precision::F16, |op| PARTS[part].contains(&op), least);
    }

    /// The same kernels round to bf16 by another constant.
    #[test]
    fn one_op_of_each_part_in_bf16() {
        let runner = Runner::new(device::open(&DeviceOptions::default()), VULKAN);
        let of_each = ["linear", "conv", "conv_transpose", "attention"];
        run(&runner, Precision::Bf16, |op| of_each.contains(&op), 200);
    }

    #[test]
    fn products_of_matrices() {
        run_on(0, 200);
    }

    #[test]
    fn products_over_blocks() {
        run_on(1, 200);
    }

    #[test]
    fn convolutions() {
        run_on(2, 100);
    }

    #[test]
    fn attentions() {
        run_on(3, 100);
    }

    /// The descriptor form of every kernel that rounds, with the layer's eyes on it.
    mod with_validation {
        use super::*;
        use pumice_plan::kernel::interface::Addressing;
        use pumice_tests::op_suite::PlainTwins;
        use pumice_vulkan::Validation;
        use std::sync::Arc;

        /// Values larger than this say nothing new of a barrier or an access.
        const VALIDATED: u64 = 1 << 13;

        #[test]
        fn rounded_products_give_the_layer_nothing_to_say() {
            let options = DeviceOptions::default()
                .validation(Validation::Synchronization)
                .addressing(Addressing::Descriptor)
                .kernels(Arc::new(PlainTwins));
            let device = device::open(&options);
            let log = device.messages().clone();
            let once = ["linear", "conv", "conv_transpose", "attention"];
            run(&Runner::descriptor(device, VALIDATED), Precision::F16, |op| once.contains(&op), 200);
            assert_eq!(log.take(), []);
        }
    }
}
