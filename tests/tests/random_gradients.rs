//! Random programs get a loss and are differentiated: their gradients against differences of the evaluator's unrounded
//! loss along drawn directions, then the programs with their gradients as any others: compiled, on interpreter and
//! Vulkan, against the evaluator, with other placement, barriers and passes.

use pumice_tests::Fixture;
use pumice_tests::graphs::differentiated::{Counts, Gradients, Order};
use pumice_tests::graphs::series::{Series, Tally};
use pumice_tests::graphs::trial::Rig;
use std::ops::Range;
use std::time::Duration;

/// Programs with gradients, and with second ones, of the long test.
const MANY: u64 = 3_000;
const MANY_SECOND: u64 = 200;

fn tried(rig: &Rig, order: Order, seeds: Range<u64>, seconds: Option<u64>) -> (Tally, Counts) {
    let limit = seconds.map(Duration::from_secs);
    let series = Series { rig, deep_every: 10, threads: 1, limit };
    let gradients = Gradients::new(rig, order);
    let tally = series.run_by(seeds, |_, _, _| {}, |seed, depth| gradients.try_seed(seed, depth));
    let counts = gradients.counts();
    println!("{counts}");
    tally.assert_clean();
    (tally, counts)
}

/// 29 of 30 programs are judged along both directions.
fn most_are_judged(tally: &Tally, counts: Counts) {
    assert!(counts.judged * 30 >= tally.passed * 29, "of {} programs: {counts}", tally.passed);
}

mod on_interpreter {
    use super::*;

    /// As many as fit in the time.
    #[test]
    fn gradients() {
        let (tally, counts) = tried(&Rig::interpreter(), Order::First, 0..MANY, Some(40));
        assert!(tally.passed >= 60, "this machine is too slow for the suite: {}", tally.passed);
        most_are_judged(&tally, counts);
    }

    #[test]
    fn second_derivatives() {
        let (tally, counts) = tried(&Rig::interpreter(), Order::Second, 0..MANY_SECOND, Some(20));
        assert!(tally.passed >= 10, "this machine is too slow for the suite: {}", tally.passed);
        assert!(counts.judged > 0, "{counts}");
    }

    #[test]
    #[ignore = "long: gradients of three thousand random programs"]
    fn gradients_of_three_thousand() {
        let (tally, counts) = tried(&Rig::interpreter(), Order::First, 0..MANY, None);
        assert_eq!(tally.passed, MANY);
        assert!(counts.judged >= 2_900, "{counts}");
    }

    #[test]
    #[ignore = "long: second derivatives of two hundred random programs"]
    fn second_derivatives_of_two_hundred() {
        let (tally, _) = tried(&Rig::interpreter(), Order::Second, 0..MANY_SECOND, None);
        assert_eq!(tally.passed, MANY_SECOND);
    }
}

mod on_device {
    use super::*;

    #[test]
    fn gradients() {
        let rig = Rig::device(Fixture::vulkan().device);
        let (tally, counts) = tried(&rig, Order::First, 0..24, None);
        most_are_judged(&tally, counts);
    }

    #[test]
    #[ignore = "long: gradients of five hundred random programs"]
    fn gradients_of_five_hundred() {
        // A CPU driver keeps the code of every kernel as long as the device lives.
        for first in (0..500).step_by(50) {
            let rig = Rig::device(Fixture::vulkan().device);
            tried(&rig, Order::First, first..first + 50, None);
        }
    }
}
