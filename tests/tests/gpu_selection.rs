//! What GPUs get, run where there is none: plans within the limits and abilities of the device at hand, with the
//! kernels that the figures and the kind of an H200 select, so tiles, splits, rows kept in registers. Under validation
//! and poison, every grid and operand between guard bands.
//!
//! A smaller GPU selects large tiles for products of a size that a CPU driver computes in time.

use pumice_cpu_ref::Interpreter;
use pumice_plan::kernel::VariantDecl;
use pumice_plan::kernels;
use pumice_tests::op_suite::{Case, Runner, cases_of, part_of_cases, run_all};
use pumice_types::Target;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Parts of the suite, and the numbers of the tests below.
const PARTS: usize = 4;
/// Values larger than this take a CPU driver too long for CI.
const ELEMENTS: u64 = 20_000;
/// Of the ops whose selection goes by size.
const LARGE: u64 = 1 << 17;
/// An H200 of four multiprocessors.
fn small_gpu() -> Target {
    let mut target = Target::h200();
    target.name = "small GPU".into();
    target.tuning.compute_units = 4;
    target
}

/// Ops whose selection goes by size: a small GPU gets kernels for a large sample of them that an H200 gets for no small
/// one.
fn by_size() -> BTreeSet<&'static str> {
    let [small_runner, large_runner] = [Target::h200(), small_gpu()].map(|gpu| planner(&gpu));
    let cases = cases_of(|_| true);
    let (small, large): (Vec<&Case>, Vec<&Case>) =
        cases.iter().filter(|c| c.elements() <= LARGE).partition(|c| c.elements() <= ELEMENTS);
    let known: BTreeSet<String> = small.iter().flat_map(|case| kernels(&small_runner, case)).collect();
    let is_new = |case: &&&Case| !kernels(&large_runner, case).is_subset(&known);
    let ops: BTreeSet<&str> = large.iter().filter(is_new).map(|case| case.op).collect();
    println!("selected by size: {ops:?}");
    ops
}

/// Plans as for a GPU, within what the floor can run.
fn planner(gpu: &Target) -> Runner {
    Runner::selecting_as(Arc::new(Interpreter::new(Target::lavapipe())), gpu, LARGE)
}

/// Of these cases those that are planned with a variant which no case before them is.
fn every_variant_once(gpu: &Target, mut cases: Vec<Case>) -> Vec<Case> {
    let (runner, mut seen) = (planner(gpu), BTreeSet::new());
    cases.retain(|case| {
        let before = seen.len();
        seen.extend(kernels(&runner, case));
        seen.len() > before
    });
    cases
}

/// The variants that a case is planned with.
fn kernels(runner: &Runner, case: &Case) -> BTreeSet<String> {
    let plan = case.sample.graph.as_ref().ok().and_then(|graph| runner.plan(graph).ok());
    plan.iter().flat_map(|plan| pumice_tests::op_suite::kernels(plan)).collect()
}

/// What no device that selects as a GPU takes, what is built into every plan, and what no op is lowered to yet.
fn is_of_no_sample(kernel: &str, variant: &VariantDecl) -> bool {
    let cpu = kernel.ends_with("_lanes") || kernel.starts_with("elementwise_runs");
    cpu || variant.name == "words64" || ["frame_advance", "frame_count", "fill"].contains(&kernel)
}

/// Every variant that lavapipe can run is planned for some sample of these suites.
#[test]
fn every_variant_that_the_floor_can_run_is_selected() {
    let floor = Target::lavapipe();
    let mut small_groups = floor.clone();
    small_groups.limits.max_workgroup_invocations = 512;
    let mut without = floor.clone();
    without.features.subgroup_arithmetic = false;
    without.features.subgroup_shuffle = false;
    let by_size = by_size();
    let mut seen = BTreeSet::new();
    for (own, gpu, most, wanted) in [
        (&floor, Target::h200(), ELEMENTS, None),
        (&floor, small_gpu(), LARGE, Some(&by_size)),
        (&small_groups, small_gpu(), LARGE, Some(&by_size)),
        // The suite `without_subgroups` runs these.
        (&without, small_gpu(), LARGE, Some(&by_size)),
    ] {
        let device = Arc::new(Interpreter::new(own.clone()));
        let runner = Runner::selecting_as(device, &gpu, most);
        let cases = cases_of(|op| wanted.is_none_or(|ops| ops.contains(op)));
        for case in cases.iter().filter(|c| c.elements() <= most) {
            let Ok(graph) = &case.sample.graph else { continue };
            seen.extend(runner.plan(graph).iter().flat_map(|plan| pumice_tests::op_suite::kernels(plan)));
        }
    }
    let variants = kernels::all().flat_map(|k| k.variants.iter().map(move |v| (k.name, v)));
    let missing: Vec<String> = variants
        .filter(|(k, v)| v.runs_on(&floor) && !is_of_no_sample(k, v))
        .map(|(k, v)| format!("{k}.{}", v.name))
        .filter(|name| !seen.contains(name))
        .collect();
    assert_eq!(missing, Vec::<String>::new(), "no sample of these sizes is planned with them");
}

mod on_device {
    mod with_validation {
        use super::super::*;
        use pumice_tests::device;
        use pumice_tests::graphs::series::Series;
        use pumice_tests::graphs::trial::Rig;
        use pumice_tests::share::Share;
        use pumice_vulkan::{DeviceOptions, Poison, Validation};

        /// A quiet NaN.
        const POISON: Poison = Poison(0x7fc0_dead);

        fn options() -> DeviceOptions {
            DeviceOptions::default().validation(Validation::Synchronization).poison(POISON)
        }

        fn all_pass(gpu: &Target, most: u64, cases: Vec<Case>) {
            let device = device::open(&options());
            let log = device.messages().clone();
            let runner = Runner::selecting_as(device, gpu, most);
            let cases: Vec<&Case> = cases.iter().filter(|c| c.elements() <= most).collect();
            let summary = run_all(&runner, cases.iter().copied(), |_, _| {});
            summary.print(&gpu.name);
            assert!(summary.passed > 0 && summary.failed.is_empty(), "{}: {:#?}", gpu.name, summary.failed);
            drop(runner);
            assert_eq!(log.take(), [], "the validation layer has nothing to say");
        }

        fn part(part: usize) {
            all_pass(
                &Target::h200(),
                ELEMENTS,
                Share::of_environment().of_few_ops(part_of_cases(part, PARTS)),
            );
        }

        #[test]
        fn part_0() {
            part(0);
        }

        #[test]
        fn part_1() {
            part(1);
        }

        #[test]
        fn part_2() {
            part(2);
        }

        #[test]
        fn part_3() {
            part(3);
        }

        #[test]
        fn large_tiles_of_a_small_gpu() {
            let by_size = by_size();
            let of_ops = || cases_of(|op| by_size.contains(op));
            let share = Share::of_environment();
            let mut cases = share.of(of_ops());
            if !share.is_all() {
                // Lavapipe compiles such a tile in 10 s and more, anew for each of its constants.
                cases.extend(of_ops());
                cases.retain(|case| case.elements() <= LARGE);
                cases = every_variant_once(&small_gpu(), cases);
            }
            all_pass(&small_gpu(), LARGE, cases);
        }

        #[test]
        fn random_programs() {
            let rig = Rig::selecting_as(device::open(&options()), &Target::h200());
            let count = if Share::of_environment().is_all() { 100 } else { 30 };
            let series = Series { rig: &rig, deep_every: 15, threads: 1, limit: None };
            let tally = series.run(300..300 + count, |_, _, _| {});
            tally.assert_clean();
            assert_eq!(tally.passed, count);
        }
    }
}
