//! Suite 1: every sample of every op on the interpreter, on Vulkan, and on Vulkan's descriptor form under validation.
//!
//! Neighbouring ops make a part, so that parts run side by side and pipelines are shared within one.

use pumice_cpu_ref::sample as data;
use pumice_cpu_ref::sample::largest;
use pumice_ir::Op;
use pumice_tests::known::Known;
use pumice_tests::op_suite::{Case, Runner, cases, part_of_cases, run_all};
use std::collections::BTreeSet;

/// Parts of the suite, and the numbers of the tests below.
const PARTS: usize = 6;
/// Values larger than this say nothing new of an interpreted plan.
const INTERPRETED: u64 = 1 << 18;

/// What a CPU driver computes in seconds.
const VULKAN: u64 = 1 << 22;
/// What the evaluator can hold beside the others.
const GPU: u64 = 1 << 26;
/// Enough workgroups for a grid of three dimensions, of 3 along x and y.
const FOLDED: u64 = 1 << 16;
/// The layer looks at every operand of every dispatch.
const VALIDATED: u64 = 20_000;

/// The list of a runner, as far as it speaks of these cases.
fn known(text: &str, cases: &[Case]) -> Known {
    let names: BTreeSet<String> = cases.iter().map(Case::name).collect();
    Known::parse(text).only(|name| names.contains(name))
}

fn run_part(runner: &Runner, what: &str, list: &str, cases: Vec<Case>) {
    let summary = run_all(runner, &cases, |_, _| {});
    assert_eq!(summary.passed + summary.failed.len() + summary.excluded.len(), cases.len());
    let excluded: BTreeSet<String> = summary.excluded.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(excluded, too_large(&cases, runner.max_elements), "excluded for another reason than size");
    summary.assert_as_known(what, &known(list, &cases));
}

/// Names of the samples with a value of more elements than that.
fn too_large(cases: &[Case], most: u64) -> BTreeSet<String> {
    let size = |c: &Case| c.sample.graph.as_ref().map_or(0, |g| largest(g, &data::bindings(&c.sample, g)));
    cases.iter().filter(|c| size(c) > most).map(Case::name).collect()
}

/// A GPU takes every sample. A runner that leaves out the large ones of an op takes others of it: whoever gives an op
/// samples that are all large hears of it.
#[test]
fn no_op_is_left_out_for_its_size() {
    let all = cases(None);
    assert_eq!(too_large(&all, GPU), BTreeSet::new(), "no runner takes these");
    let smaller = [INTERPRETED, VULKAN, FOLDED, VALIDATED];
    println!("of {} samples are left out: {:?}", all.len(), smaller.map(|most| too_large(&all, most).len()));
    for op in Op::NAMES {
        let of_op = cases(Some(op)).into_iter().filter(|case| case.op == *op).collect::<Vec<_>>();
        let none_fits = |most: &u64| !of_op.is_empty() && too_large(&of_op, *most).len() == of_op.len();
        assert_eq!(smaller.iter().find(|most| none_fits(most)), None, "{op}: all samples have more elements");
    }
}

/// A3: enough samples, each with a name of its own, all in some part; lists name existing ones.
#[test]
fn samples_are_many_and_counted_once() {
    let all = cases(None);
    let names: BTreeSet<String> = all.iter().map(Case::name).collect();
    println!("{} samples of {} ops", all.len(), Op::NAMES.len());
    assert!(all.len() >= 3000, "{} samples", all.len());
    assert_eq!(names.len(), all.len(), "two samples of one name");
    assert_eq!((0..PARTS).map(|p| part_of_cases(p, PARTS).len()).sum::<usize>(), all.len());
    let lists = [
        include_str!("../known/interpreter.txt"),
        include_str!("../known/vulkan.txt"),
        include_str!("../known/descriptor.txt"),
    ];
    for list in lists {
        let unknown: Vec<String> =
            Known::parse(list).names().filter(|n| !names.contains(*n)).map(str::to_owned).collect();
        assert!(unknown.is_empty(), "listed and not a sample: {unknown:?}");
    }
}

macro_rules! parts {
    ($run:ident: $($name:ident $part:literal),*) => {$(
        #[test]
        fn $name() {
            $run($part);
        }
    )*};
}

mod on_interpreter {
    use super::*;

    fn run(part: usize) {
        let list = include_str!("../known/interpreter.txt");
        run_part(&Runner::interpreter(INTERPRETED), "interpreter", list, part_of_cases(part, PARTS));
    }

    parts!(run: part_0 0, part_1 1, part_2 2, part_3 3, part_4 4, part_5 5);
}

mod on_device {
    use super::*;
    use pumice_plan::CheckedPlan;
    use pumice_runtime::Executable;
    use pumice_tests::device;
    use pumice_tests::op_suite::PlainTwins;
    use pumice_tests::share::Share;
    use pumice_types::Bytes;
    use pumice_vulkan::{Addressing, DeviceOptions, Message, Validation, VulkanDevice};
    use std::sync::Arc;

    const LIST: &str = include_str!("../known/vulkan.txt");

    /// A share of a part: for what runs the samples once more in another way.
    fn share_of(part: usize) -> Vec<Case> {
        Share::of_environment().of(part_of_cases(part, PARTS))
    }

    /// A part on a device, which has all its memory back afterwards.
    fn run_on(
        device: Arc<VulkanDevice>,
        make: fn(Arc<VulkanDevice>) -> Runner,
        (what, list): (&str, &str),
        cases: Vec<Case>,
    ) {
        run_part(&make(device.clone()), what, list, cases);
        assert_eq!(device.live_bytes(), Bytes::ZERO, "bytes that nobody uses are alive");
    }

    fn run(part: usize) {
        let runner = |device: Arc<VulkanDevice>| {
            let most = if device.device_plan().target.features.cpu { VULKAN } else { GPU };
            Runner::new(device, most)
        };
        let cases = Share::of_environment().half_of(part_of_cases(part, PARTS));
        run_on(device::open(&DeviceOptions::default()), runner, ("vulkan", LIST), cases);
    }

    parts!(run: part_0 0, part_1 1, part_2 2, part_3 3, part_4 4, part_5 5);

    fn run_folded(part: usize) {
        let device = device::open(&DeviceOptions::default());
        run_on(device, |d| Runner::folded(d, FOLDED), ("folded", LIST), share_of(part));
    }

    parts!(run_folded: folded_part_0 0, folded_part_1 1, folded_part_2 2, folded_part_3 3, folded_part_4 4,
        folded_part_5 5);

    mod with_validation {
        use super::*;

        fn validated() -> DeviceOptions {
            DeviceOptions::default()
                .validation(Validation::Synchronization)
                .addressing(Addressing::Descriptor)
                .kernels(Arc::new(PlainTwins))
        }

        fn run_validated(part: usize) {
            let device = device::open(&validated());
            let log = device.messages().clone();
            let list = include_str!("../known/descriptor.txt");
            run_on(device, |d| Runner::descriptor(d, VALIDATED), ("descriptor", list), share_of(part));
            assert_eq!(log.take(), [], "the validation layer has nothing to say");
        }

        parts!(run_validated: validated_part_0 0, validated_part_1 1, validated_part_2 2, validated_part_3 3,
        validated_part_4 4, validated_part_5 5);

        /// The positive control: a plan of the compiler without one of its barriers is reported, with it not.
        #[test]
        fn a_missing_barrier_is_reported() {
            let case =
                cases(Some("layer_norm")).into_iter().find(|c| c.elements() > 1000).expect("a large one");
            let graph = pumice_tests::graphs::chain();
            let mut seen = 0;
            for broken in [false, true] {
                let device = device::open(&validated());
                let log = device.messages().clone();
                let runner = Runner::descriptor(device, VALIDATED);
                assert_eq!(runner.run(&case), pumice_tests::op_suite::Outcome::Passed);
                let mut plan = runner.plan(&graph).expect("compiles").into_plan();
                if broken {
                    let levels = &mut plan.runs[0].program.levels;
                    seen = levels.iter_mut().map(|l| usize::from(l.barrier.take().is_some())).sum();
                }
                let exe =
                    Executable::new(runner.device.clone(), CheckedPlan::unsound(plan), runner.host.clone())
                        .expect("loads");
                let mut session = exe.session().expect("a session");
                let x = vec![0.5f32; 64 * 64];
                session.run(&[("x", pumice_types::TensorView::f32(&x, [64, 64]))]).expect("runs");
                drop((session, exe, runner));
                let messages = log.take();
                assert_eq!(messages.iter().any(Message::is_hazard), broken, "{messages:#?}");
                assert!(messages.iter().all(Message::is_hazard), "{messages:#?}");
            }
            assert!(seen >= 2, "{seen} barriers were taken out");
        }
    }
}
