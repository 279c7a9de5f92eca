//! Suite 4 (A4): random programs on the interpreter and on Vulkan, against the evaluator of the program as it was
//! written; plans checked; other placement, barriers and passes, replayed and recorded anew: the same bits, or close.

use pumice_tests::Fixture;
use pumice_tests::graphs::series::{Series, histogram};
use pumice_tests::graphs::trial::{Depth, Rig, Trial};
use std::time::Duration;

/// Programs tried by the long tests.
const MANY: u64 = 10_000;

fn series(rig: &Rig, deep_every: u64, seconds: Option<u64>) -> Series<'_> {
    Series { rig, deep_every, threads: 1, limit: seconds.map(Duration::from_secs) }
}

/// Every op occurs, eight times in 1,200 programs or twenty in 3,000, and every kind of program in its share.
#[test]
fn every_op_occurs() {
    let histogram = histogram(0..1200);
    print!("{histogram}");
    assert_eq!(histogram.rarer_than(8), Vec::<&str>::new());
    let (fewest, most) = histogram.inner();
    assert!(fewest >= 5 && most <= 70, "{fewest} to {most} nodes");
    // The host has the transforms along axes that symbols decide.
    for (kind, least) in
        [("(programs with symbols)", 240), ("(programs with states)", 216), ("(programs with host ops)", 90)]
    {
        assert!(histogram.count(kind) >= least, "{kind}: {}", histogram.count(kind));
    }
}

mod on_interpreter {
    use super::*;

    /// As many as fit in the time; the same ones, from the first on, whatever the machine.
    #[test]
    fn random_programs() {
        let tally = series(&Rig::interpreter(), 10, Some(80)).run(0..MANY, |_, _, _| {});
        tally.assert_clean();
        assert!(tally.passed >= 300, "this machine is too slow for the suite: {}", tally.passed);
    }

    #[test]
    #[ignore = "long: ten thousand random programs"]
    fn ten_thousand_random_programs() {
        let tally = series(&Rig::interpreter(), 10, None).run(0..MANY, |_, _, _| {});
        tally.assert_clean();
        assert_eq!(tally.passed, MANY);
    }
}

mod on_device {
    use super::*;
    use pumice_ir::ops::{Linear, Rounding};
    use pumice_ir::{Fill, GraphBuilder, Sample, bool_, f32};
    use pumice_tests::op_suite::{Case, Outcome, Runner};
    use pumice_types::DType;

    fn part(part: u64) {
        let rig = Rig::device(Fixture::vulkan().device);
        let tally = series(&rig, 15, None).run(100 * part..100 * (part + 1), |_, _, _| {});
        tally.assert_clean();
        assert_eq!(tally.passed, 100);
    }

    #[test]
    fn random_programs_0() {
        part(0);
    }

    #[test]
    fn random_programs_1() {
        part(1);
    }

    #[test]
    fn random_programs_2() {
        part(2);
    }

    /// The same plan where a run is one submission and where every level is one.
    fn by_levels(part: u64) {
        // A CPU driver keeps the code of every kernel as long as the device lives.
        for first in (100 * part..100 * (part + 1)).step_by(20) {
            let (whole, levels) =
                (Rig::device(Fixture::vulkan().device), Rig::device(Fixture::by_levels().device));
            for seed in first..first + 20 {
                let same = Trial::of_bits(seed).and_then(|trial| trial.same_on(&whole, &levels));
                same.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            }
        }
    }

    #[test]
    fn random_programs_by_levels_0() {
        by_levels(0);
    }

    #[test]
    fn random_programs_by_levels_1() {
        by_levels(1);
    }

    #[test]
    fn random_programs_by_levels_2() {
        by_levels(2);
    }

    /// 64-bit integers on the way between narrow ones, for which kernels of four elements were once chosen, wherever
    /// a body of scalar instructions goes.
    #[test]
    fn wide_integers_inside_a_step() {
        let through = |g: &GraphBuilder, x| g.cast(g.cast(x, DType::I64), DType::F32);
        let sample = Sample::graph("wide", |g| {
            let (x, w) = (g.input("x", f32([4, 8])), g.param("w", f32([8, 8])));
            let b = g.input("b", bool_([4, 8]));
            let wide = g.cast(b, DType::I64);
            g.output("compared", g.less_or_equal(wide, wide));
            g.output("there and back", through(g, x));
            g.output("after a product", through(g, g.matmul(x, w)));
            g.output("before a sum", g.reduce_sum(through(g, x), &[-1], false));
            g.output("before a norm", g.softmax(g.add(x, through(g, x)), -1));
        });
        let sample =
            sample.fill("x", Fill::Range(-3, 4)).fill("w", Fill::Range(-3, 4)).fill("b", Fill::Range(0, 2));
        let runner = Runner::new(Fixture::vulkan().device, 1 << 10);
        assert_eq!(runner.run(&Case::new("cast", sample)), Outcome::Passed);
    }

    /// A division beside a sine after factors that were rounded, for which a driver's compiler once ended the process;
    /// NaN and infinities go through it.
    #[test]
    fn waves_and_divisions_after_rounded_products() {
        for rounding in [Rounding::F16, Rounding::Bf16] {
            // One product and one use of it: only then does its kernel take in all that follows.
            let sample = Sample::graph("waves", |g| {
                let (x, w) = (g.input("x", f32([37, 64])), g.param("w", f32([64, 64])));
                let b = g.param("b", f32([64]));
                let y = g.apply_all(Linear { rounding }, &[Some(x), Some(w), Some(b)])[0];
                g.output("y", g.sigmoid(g.sin(y)));
            });
            let sample = sample.fill("x", Fill::Constant(0.0)).fill("b", Fill::Special);
            let rig = Rig::device(Fixture::vulkan().device);
            assert_eq!(rig.try_sample(sample, Depth::Plain).err(), None);
        }
    }

    #[test]
    #[ignore = "long: three thousand random programs"]
    fn three_thousand_random_programs() {
        let rig = Rig::device(Fixture::vulkan().device);
        let tally = series(&rig, 15, None).run(0..3000, |_, _, _| {});
        tally.assert_clean();
        assert_eq!(tally.passed, 3000);
    }
}
