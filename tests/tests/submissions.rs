//! How many submissions a call is, counted by the log of Vulkan calls, and what plans say of steps that are too long.

use pumice_compile::Options;
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{Graph, GraphBuilder, f32, sym};
use pumice_plan::{Cost, Work};
use pumice_types::{Bindings, Bytes, ScalarId, SymbolId, Target};

/// Products one after the other: each is a level.
fn products(count: usize, n: u64) -> Graph {
    let g = GraphBuilder::new("products");
    let (x, w) = (g.input("x", f32([n, n])), g.param("w", f32([n, n])));
    g.output("y", (0..count).fold(x, |y, _| g.matmul(y, w)));
    g.build().expect("sound")
}

/// 17 GFLOP are 0.3 s on two CPUs and 0.3 ms on an H200.
#[test]
fn a_plan_names_steps_that_pass_the_bound() {
    let says = |target: &Target| {
        let plan = pumice_compile::compile(&products(1, 2048), target, &Options::default(), &RefEval);
        let text = plan.expect("compiles").to_string();
        text.lines().filter(|line| line.contains("a submission may last 200ms")).count()
    };
    assert_eq!((says(&Target::lavapipe()), says(&Target::h200())), (1, 0));
}

/// New rows after `at` others, which attend to as many keys as there are: not to all that the cache has room for.
#[test]
fn costs_follow_symbols_and_scalars() {
    let g = GraphBuilder::new("attention");
    let shape = [1.into(), sym("t", 1..=6), 2.into(), 4.into()];
    let [q, k, v] = ["q", "k", "v"].map(|n| g.input(n, f32(shape.clone())));
    let at = g.scalar_advancing("at", 0, 64, 0, g.dim_of(q, 1));
    let end = g.add(at, g.extent(q, 1));
    let append = |name: &str, x| {
        let cache = g.cache(name, f32([1u64, 64, 2, 4]), 1);
        g.kv_append(cache, x, at, 1, AppendMode::Linear)
    };
    let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..Attention::default() };
    let (keys, values) = (append("keys", k), append("values", v));
    g.output("y", g.attention(q, keys, values, None, Some(end), op));
    let graph = g.build().expect("sound");
    let plan = pumice_compile::compile(&graph, &Target::lavapipe(), &Options::default(), &RefEval);
    let plan = plan.expect("compiles");
    let works = |of: &dyn Fn(&Cost) -> Work| -> Vec<Work> {
        let steps = plan.runs[0].program.steps.iter();
        steps.map(|s| of(&s.cost)).filter(|work| work.flops > 0).collect()
    };
    let mut bindings = Bindings::new();
    bindings.bind(SymbolId(0), 2);
    bindings.bind_scalar(ScalarId(0), 10);
    // 2 heads, 2 queries, 12 keys, width 4: two products; q, y, k, v, and how many keys there are.
    let work = |queries: u64, keys: u64| Work {
        bytes: Bytes(4 * 2 * 4 * (2 * queries + 2 * keys) + 4),
        flops: 2 * 2 * queries * keys * 8,
    };
    assert_eq!(works(&|cost| cost.at(&bindings)), [work(2, 12)]);
    assert_eq!(works(&|cost| cost.upper(&plan.symbols)), [work(6, 64)]);
}

mod on_device {
    use super::*;
    use pumice_ir::shape::i32;
    use pumice_runtime::{Executable, RunOptions, Session};
    use pumice_tests::Fixture;
    use pumice_types::target::SUBMISSION_BOUND;
    use pumice_types::{DimExpr, TensorView};
    use pumice_vulkan::{Call, DeviceOptions};
    use std::time::Duration;

    const N: u64 = 128;
    const PRODUCTS: usize = 8;

    fn fixture(bound: Duration) -> (Fixture, Executable) {
        let fixture = Fixture::vulkan_with(&DeviceOptions::default().submission_bound(bound));
        let exe = fixture.executable(&products(PRODUCTS, N), &Options::default());
        let w: Vec<f32> = (0..N * N).map(|i| (i % 7) as f32 / 256.0 - 0.01).collect();
        exe.set_param("w", &w).expect("set");
        (fixture, exe)
    }

    /// Replays so many times; the result, and how many submissions that were.
    fn submissions(fixture: &Fixture, session: &mut Session, steps: u32) -> (Vec<u8>, u64) {
        let x: Vec<f32> = (0..N * N).map(|i| (i % 5) as f32 - 2.0).collect();
        let calls = fixture.vulkan.as_ref().expect("a Vulkan device").calls();
        let before = calls.count(Call::QueueSubmit);
        let options = RunOptions::default().steps(steps);
        let inputs = [("x", TensorView::f32(&x, [N, N]))];
        let out = session.run_read_with(&inputs, &[0], &options).expect("runs");
        (out[0].bytes().to_vec(), calls.count(Call::QueueSubmit) - before)
    }

    /// Drivers ended what ran longer than 2 s: a call of many replays was one submission.
    #[test]
    fn a_long_run_is_many_submissions() {
        let (short, exe) = fixture(Duration::from_millis(1));
        exe.prepare().expect("prepares");
        let mut session = exe.session().expect("a session");
        let (cut, count) = submissions(&short, &mut session, 100);
        // Two CPUs take 0.7 ms for a replay.
        let least = if short.target.features.cpu { 10 } else { 2 };
        assert!((least..=100 * PRODUCTS as u64 + 100).contains(&count), "{count} submissions");
        let (again, count) = submissions(&short, &mut session, 100);
        assert!(count >= least && again == cut, "{count} submissions");

        let (whole, exe) = fixture(Duration::from_secs(100));
        exe.prepare().expect("prepares");
        let (bits, count) = submissions(&whole, &mut exe.session().expect("a session"), 100);
        assert!(bits == cut && count == 2, "the first list alone, then the rest: {count}");
    }

    /// Prints what the bound costs a GPU: device time of ten seconds of replays, with and without it.
    #[test]
    #[ignore = "long: half a minute of a GPU"]
    fn ten_seconds_of_replays() {
        const N: u64 = 2048;
        let x = vec![0.5f32; (N * N) as usize];
        for bound in [SUBMISSION_BOUND, Duration::from_secs(100), SUBMISSION_BOUND] {
            let fixture = Fixture::vulkan_with(&DeviceOptions::default().submission_bound(bound));
            let exe = fixture.executable(&products(PRODUCTS, N), &Options::default());
            exe.set_param("w", &x).expect("set");
            let mut session = exe.session().expect("a session");
            let inputs = [("x", TensorView::f32(&x, [N, N]))];
            session.run_with(&inputs, &RunOptions::default()).expect("runs");
            let calls = fixture.vulkan.as_ref().expect("a Vulkan device").calls();
            let before = calls.count(Call::QueueSubmit);
            let us = session.time(&inputs, &RunOptions::default().steps(4000)).expect("runs");
            let count = calls.count(Call::QueueSubmit) - before;
            println!("bound {bound:?}: {:.4} s in {count} submissions", us / 1e6);
        }
    }

    /// What is predicted and was measured to be short is one submission.
    #[test]
    fn a_short_call_is_one_submission() {
        let (fixture, exe) = fixture(Duration::from_secs(100));
        exe.prepare().expect("prepares");
        let mut session = exe.session().expect("a session");
        for steps in [1, 1, 20, 3, 1] {
            assert_eq!(submissions(&fixture, &mut session, steps).1, 1, "{steps} replays");
        }
    }

    #[test]
    fn a_bound_of_zero_makes_every_level_a_submission() {
        let (fixture, exe) = fixture(Duration::ZERO);
        exe.prepare().expect("prepares");
        let levels = u64::from(exe.plan().runs[0].stats.levels);
        let mut session = exe.session().expect("a session");
        for steps in [1, 3] {
            assert_eq!(submissions(&fixture, &mut session, steps).1, u64::from(steps) * levels);
        }
    }

    /// The host makes no further submission once it reads that the program has stopped.
    #[test]
    fn nothing_is_submitted_after_a_stop() {
        let g = GraphBuilder::new("counting");
        let limit = g.scalar("limit", i32::<u64>([]), -1.0, 1e6, 2.0);
        let t = g.scalar_advancing("t", 0, 1000, 0, DimExpr::constant(1));
        g.output("enough", g.greater_or_equal(t, limit));
        g.stop("enough");
        let fixture = Fixture::by_levels();
        let exe = fixture.executable(&g.build().expect("sound"), &Options::default());
        exe.prepare().expect("prepares");
        let levels = u64::from(exe.plan().runs[0].stats.levels);
        let mut session = exe.session().expect("a session");
        let calls = fixture.vulkan.as_ref().expect("a Vulkan device").calls();
        let before = calls.count(Call::QueueSubmit);
        session.execute(&[], &RunOptions::default().steps(50)).expect("runs");
        assert_eq!((session.replays(), session.stopped()), (3, true));
        assert_eq!(calls.count(Call::QueueSubmit) - before, 3 * levels);
    }
}
