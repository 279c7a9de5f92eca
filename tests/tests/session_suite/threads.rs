//! Sessions of one executable in several threads, and params set while they run.

use crate::common::*;
use pumice_ir::{GraphBuilder, f32, sym};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::DType;
use std::sync::atomic::{AtomicBool, Ordering};

on_every_device!(
    two_sessions_in_two_threads,
    a_run_sees_one_version_of_the_params,
    sessions_move_between_threads
);

/// y = x·wᵀ, s += Σx.
fn executable(fixture: &Fixture) -> pumice_runtime::Executable {
    let g = GraphBuilder::new("shared");
    let x = g.input("x", f32([sym("n", 1..=8), 6.into()]));
    g.output("y", g.linear(x, g.param("w", f32([7u64, 6])), None));
    let s = g.state("s", f32([6u64]));
    let sum = g.add(g.state_read(s), g.reduce_sum(x, &[0], false));
    g.state_write(s, sum);
    g.output("sum", sum);
    load(fixture, &g.build().expect("sound"))
}

/// Runs one session and checks every result.
fn work(mut s: pumice_runtime::Session, w: &[f32], runs: u32, seed: u32) -> pumice_runtime::Session {
    let mut sum = vec![0f32; 6];
    for turn in 0..runs {
        let n = 1 + (turn as usize * 5 + seed as usize) % 8;
        let x = tensor(&wave(6 * n, seed + turn), &[n as u64, 6]);
        floats(&x).iter().enumerate().for_each(|(i, v)| sum[i % 6] += v);
        let y = run(&mut s, &x).expect("runs");
        assert_eq!(out(&y, "y"), linear(&floats(&x), w, None, 6), "session {seed}, turn {turn}");
        assert_eq!(out(&y, "sum"), sum, "session {seed}, turn {turn}");
    }
    s
}

fn two_sessions_in_two_threads(fixture: &Fixture) {
    let exe = executable(fixture);
    let w = wave(42, 1);
    set(&exe, &[("w", &w)]);
    std::thread::scope(|scope| {
        for seed in [1000, 2000] {
            // One session is made here, the other in its thread.
            let made = (seed == 1000).then(|| exe.session().expect("a session"));
            let (exe, w) = (exe.clone(), &w);
            scope.spawn(move || {
                let s = made.unwrap_or_else(|| exe.session().expect("a session"));
                work(s, w, 60, seed)
            });
        }
    });
}

/// Derived from two params that are always set together: their difference is 0 in every version.
fn a_run_sees_one_version_of_the_params(fixture: &Fixture) {
    let g = GraphBuilder::new("versions");
    let (a, b) = (g.param("a", f32([500u64])), g.param("b", f32([500u64])));
    let x = g.input("x", f32([500u64]));
    let zero = g.constant_scalar(DType::F32, 0.0);
    g.output("difference", g.add(g.add(g.relu(a), g.neg(g.relu(b))), g.mul(x, zero)));
    g.output("a", g.add(a, x));
    let exe = load(fixture, &g.build().expect("sound"));
    let both = |v: f32| {
        let values = vec![v; 500];
        exe.set_params(&[("a", row(&values)), ("b", row(&values))]).expect("both");
    };
    both(0.0);
    let (done, x) = (AtomicBool::new(false), vec![0f32; 500]);
    std::thread::scope(|scope| {
        let readers = [0, 1].map(|_| {
            scope.spawn(|| {
                let mut s = exe.session().expect("a session");
                let (mut last, mut versions, mut runs) = (0f32, 0, 0);
                while !done.load(Ordering::Acquire) || runs == 0 {
                    let y = s.run(&[("x", row(&x))]).expect("runs");
                    assert_eq!(out(&y, "difference"), vec![0f32; 500]);
                    let a = out(&y, "a");
                    assert!(a.iter().all(|v| *v == a[0]), "one version of a");
                    assert!(a[0] >= last, "{} after {last}", a[0]);
                    versions += u32::from(a[0] > last);
                    (last, runs) = (a[0], runs + 1);
                }
                (versions, runs)
            })
        });
        for version in 1..=100 {
            both(version as f32);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            let (versions, runs) = reader.join().expect("no assertion failed");
            assert!(versions > 0, "{runs} runs saw no new version");
        }
    });
    let mut s = exe.session().expect("a session");
    assert_eq!(
        out(&s.run(&[("x", row(&x))]).expect("runs"), "a"),
        vec![100f32; 500],
        "the last version stays"
    );
}

fn sessions_move_between_threads(fixture: &Fixture) {
    let exe = executable(fixture);
    let w = wave(42, 3);
    set(&exe, &[("w", &w)]);
    let mut s = exe.session().expect("a session");
    for seed in [1, 2, 3] {
        s.state("s").expect("there").reset().expect("reset");
        let w = w.clone();
        s = std::thread::spawn(move || work(s, &w, 3, seed)).join().expect("no assertion failed");
    }
}

mod at_once {
    mod on_device {
        use super::super::*;
        use pumice_vulkan::{Call, DeviceOptions};
        use std::time::Duration;

        /// Many threads load the same graph at once, make its pipelines at once and wait at once, none of them asking
        /// before it sleeps. Each pipeline is made once, however many want it.
        #[test]
        fn a_pipeline_that_many_threads_want_is_made_once() {
            let w = wave(42, 1);
            let live = |threads: u32| {
                let fixture = Fixture::vulkan_with(&DeviceOptions::default().poll(Duration::ZERO));
                let one = |seed: u32| {
                    let exe = executable(&fixture);
                    set(&exe, &[("w", &w)]);
                    drop(work(exe.session().expect("a session"), &w, 30, 1000 * seed));
                };
                std::thread::scope(|scope| {
                    let one = &one;
                    (0..threads).for_each(|seed| drop(scope.spawn(move || one(seed))));
                });
                let made = fixture.vulkan.as_ref().map(|v| v.calls().count(Call::CreateComputePipelines));
                fixture.gives_everything_back();
                made
            };
            assert_eq!(live(16), live(1));
        }

        /// Six steps on x, one per digit of `which`: no two programs have the same kernel, up to a few that simplify.
        fn steps(g: &GraphBuilder, x: pumice_ir::Value, which: usize) -> pumice_ir::Value {
            (0..6).fold(x, |v, digit| match which >> (2 * digit) & 3 {
                0 => g.neg(v),
                1 => g.abs(v),
                2 => g.relu(v),
                _ => g.add(v, x),
            })
        }

        /// The same in plain Rust; every value is a small multiple of 1/8, so all of it is exact.
        fn stepped(x: f32, which: usize) -> f32 {
            (0..6).fold(x, |v, digit| match which >> (2 * digit) & 3 {
                0 => -v,
                1 => v.abs(),
                2 => v.max(0.0),
                _ => v + x,
            })
        }

        /// Sixteen threads, each of which makes a pipeline of its own again and again and runs it: some always submit
        /// while others make theirs. On an H200 (driver 580.159.04) `selftest` never ended so, after 200 to 2,500
        /// pipelines.
        #[test]
        fn threads_that_make_pipelines_and_run_do_not_hang() {
            const THREADS: usize = 16;
            let fixture = Fixture::vulkan();
            let each = if fixture.target.features.cpu { 4 } else { 60 };
            let one = |which: usize| {
                let g = GraphBuilder::new("steps");
                let x = g.input("x", f32([33u64]));
                g.output("y", steps(&g, x, which));
                let exe = load(&fixture, &g.build().expect("sound"));
                let x = wave(33, which as u32);
                let y = run(&mut exe.session().expect("a session"), &tensor(&x, &[33])).expect("runs");
                assert_eq!(out(&y, "y"), map(&x, |x| stepped(x, which)), "program {which}");
            };
            std::thread::scope(|scope| {
                let one = &one;
                (0..THREADS).for_each(|t| {
                    scope.spawn(move || (0..each).for_each(|i| one(THREADS * i + t)));
                });
            });
            fixture.gives_everything_back();
        }
    }
}
