//! The same recording, again and again: back to back in one submission, and in many runs.

use crate::common::*;
use pumice_compile::{Barriers, Options};
use pumice_ir::{Graph, GraphBuilder, f32, sym};
use pumice_plan::Placement;
use pumice_runtime::{RunOptions, RuntimeError, ScalarValue, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, DimExpr, Tensor};

on_every_device!(
    fifty_runs_equal_a_fresh_session,
    steps_after_each_other,
    several_steps_are_several_runs,
    scalars_advance_between_replays,
    every_replay_is_checked_before_the_first,
    options_of_the_compiler_change_nothing,
);

/// Enough levels, reuse and kinds of kernels that a missing barrier between two replays would show.
fn layers() -> Graph {
    let g = GraphBuilder::new("layers");
    let x = g.input("x", f32([sym("n", 1..=33), 16.into()]));
    let mut h = x;
    for i in 0..3 {
        let w = g.param(&format!("w{i}"), f32([16u64, 16]));
        let up = g.gelu(g.linear(h, w, None));
        h = g.layer_norm(g.add(h, up), g.param(&format!("g{i}"), f32([16u64])), None, 1e-5);
    }
    g.output("soft", g.softmax(h, -1));
    g.output("h", h);
    g.output("sum", g.reduce_sum(h, &[0], false));
    g.build().expect("sound")
}

fn fill(exe: &pumice_runtime::Executable) {
    for i in 0..3 {
        set(
            exe,
            &[(&format!("w{i}"), &map(&wave(256, i), |v| v / 4.0)), (&format!("g{i}"), &wave(16, 10 + i))],
        );
    }
}

fn fifty_runs_equal_a_fresh_session(fixture: &Fixture) {
    let exe = load(fixture, &layers());
    fill(&exe);
    let mut s = exe.session().expect("a session");
    let inputs = [1u64, 33, 7, 32].map(|n| tensor(&wave(16 * n as usize, n as u32), &[n, 16]));
    let fresh = inputs.each_ref().map(|x| {
        let mut s = exe.session().expect("a fresh session");
        run(&mut s, x).expect("runs").into_tensors()
    });
    // Several of the same one after the other, then others: every order of two occurs.
    for turn in 0..50 {
        let i = [0, 0, 1, 1, 2, 0, 2, 3, 1, 0, 3, 3, 2][turn % 13];
        let y = run(&mut s, &inputs[i]).expect("runs").into_tensors();
        assert_eq!(y, fresh[i], "turn {turn}, to the bit");
    }
}

/// s ← s/2 + x and t ← s of before: each replay reads what the one before it wrote.
fn recurrence() -> Graph {
    let g = GraphBuilder::new("recurrence");
    let x = g.input("x", f32([300u64]));
    let (s, t) = (g.state("s", f32([300u64])), g.state("t", f32([300u64])));
    let old = g.state_read(s);
    let new = g.add(g.mul(old, g.constant_scalar(DType::F32, 0.5)), x);
    g.state_write(t, old);
    g.state_write(s, new);
    g.output("new", new);
    g.output("old", old);
    g.build().expect("sound")
}

fn steps_after_each_other(fixture: &Fixture) {
    let exe = load(fixture, &recurrence());
    let mut session = exe.session().expect("a session");
    let x = wave(300, 1);
    let (mut s, mut t) = (vec![0f32; 300], vec![0f32; 300]);
    for steps in [1u32, 2, 4, 1, 9, 3] {
        for _ in 0..steps {
            t.clone_from(&s);
            s = zip(&s, &x, |s, x| 0.5 * s + x);
        }
        let y = session.run_steps(&[("x", row(&x))], steps).expect("runs");
        assert_eq!((out(&y, "new"), out(&y, "old")), (s.clone(), t.clone()), "{steps} steps");
        let mut state = |name: &str| floats(&session.state(name).expect("there").read().expect("reads"));
        assert_eq!((state("s"), state("t")), (s.clone(), t.clone()), "{steps} steps");
    }
    refused!(session.run_steps(&[("x", row(&x))], 0), RuntimeError::NoSteps, "one step");
}

/// s ← tanh(s·w + x)·(1 + t/8) with t counting up by 2; softmax of it.
fn products() -> Graph {
    let g = GraphBuilder::new("products");
    let x = g.input("x", f32([4u64, 16]));
    let t = g.scalar_advancing("t", 0, 1000, 0, DimExpr::constant(2));
    let s = g.state("s", f32([4u64, 16]));
    let h = g.add(g.matmul(g.state_read(s), g.param("w", f32([16u64, 16]))), x);
    let eighths = g.mul(g.cast(t, DType::F32), g.constant_scalar(DType::F32, 0.125));
    let h = g.mul(g.tanh(h), g.add(eighths, g.constant_scalar(DType::F32, 1.0)));
    g.state_write(s, h);
    g.output("h", h);
    g.output("p", g.softmax(h, -1));
    g.build().expect("sound")
}

/// The recurrence in f64.
fn products_plain(x: &[f32], w: &[f32], steps: usize) -> Vec<f32> {
    let mut s = vec![0f64; 64];
    for step in 0..steps {
        let at = |i: usize| {
            let dot: f64 = (0..16).map(|k| s[i / 16 * 16 + k] * f64::from(w[k * 16 + i % 16])).sum();
            (dot + f64::from(x[i])).tanh() * (1.0 + 2.0 * step as f64 / 8.0)
        };
        s = (0..64).map(at).collect();
    }
    s.iter().map(|v| *v as f32).collect()
}

/// 1 + 1 + 1 + 1 + 1 = 4 + 1 = 5 = 2 + 3 steps, to the bit, scalars included; and again in a session that began anew.
pub fn several_steps_are_several_runs(fixture: &Fixture) {
    let exe = load(fixture, &products());
    let (w, x) = (map(&wave(256, 3), |v| v / 8.0), tensor(&wave(64, 9), &[4, 16]));
    set(&exe, &[("w", &w)]);
    let go = |s: &mut Session, all: &[u32]| {
        let mut last = Vec::new();
        for &steps in all {
            last = s.run_steps(&[("x", x.view())], steps).expect("runs").into_tensors();
        }
        assert_eq!(s.scalar("t").expect("there").as_i64(), Some(10));
        last.push(s.state("s").expect("there").read().expect("reads"));
        last
    };
    let splits = [&[1u32, 1, 1, 1, 1][..], &[4, 1], &[5], &[2, 3]];
    let results = splits.map(|all| go(&mut exe.session().expect("a session"), all));
    assert_close(&floats(&results[0][0]), &products_plain(&floats(&x), &w, 5), 1e-4, "five steps");
    assert!(results.iter().all(|r| *r == results[0]), "{results:?}");
    let mut s = exe.session().expect("a session");
    for all in splits {
        s.set_scalar("t", 0).expect("in range");
        s.state("s").expect("there").reset().expect("zeros");
        assert_eq!(go(&mut s, all), results[0], "{all:?}");
    }
}

/// y = (i, j, 2i + gain), i += 1, j += i·2 of before.
fn counters() -> Graph {
    let g = GraphBuilder::new("counters");
    let i = g.scalar_advancing("i", 0, 9, 2, DimExpr::constant(1));
    let j = g.scalar_advancing("j", -100, 100, -5, g.scalar_expr(i) * DimExpr::constant(2));
    let gain = g.scalar("gain", f32::<u64>([]), -1.0, 1.0, 0.25);
    let log = g.state("log", f32([10u64, 3]));
    let float = |v| g.reshape(g.cast(v, DType::F32), &[1, 1]);
    let third = g.add(g.add(float(i), float(i)), gain);
    g.output("y", g.concat(&[float(i), float(j), third], 1));
    let (zero, one) = (DimExpr::constant(0), DimExpr::constant(1));
    let kind = pumice_ir::FeedKind::Row { axis: 0, src: zero, dst: g.scalar_expr(i), count: one };
    g.feed("y", log, kind);
    g.build().expect("sound")
}

pub fn scalars_advance_between_replays(fixture: &Fixture) {
    let exe = load(fixture, &counters());
    let mut s = exe.session().expect("a session");
    let (mut i, mut j, mut gain, mut log) = (2i64, -5i64, 0.25f32, vec![0f32; 30]);
    for (turn, steps) in [1u32, 3, 2, 1].into_iter().enumerate() {
        if turn == 2 {
            (i, gain) = (4, -0.5);
            s.set_scalar("i", i).expect("set back");
            s.set_scalar("gain", gain).expect("in range");
        }
        let y = s.run_steps(&[], steps).expect("runs");
        let mut last = [0f32; 3];
        for _ in 0..steps {
            last = [i as f32, j as f32, 2.0 * i as f32 + gain];
            log[3 * i as usize..3 * i as usize + 3].copy_from_slice(&last);
            (i, j) = (i + 1, j + 2 * i);
        }
        assert_eq!(out(&y, "y"), last, "turn {turn}");
        assert_eq!(floats(&s.state("log").expect("there").read().expect("reads")), log);
        assert_eq!(s.scalar("i").expect("there"), ScalarValue::Int(i));
        assert_eq!(s.scalar("j").expect("there"), ScalarValue::Int(j));
    }
}

fn every_replay_is_checked_before_the_first(fixture: &Fixture) {
    let exe = load(fixture, &counters());
    let mut s = exe.session().expect("a session");
    s.set_scalar("i", 8).expect("in range");
    // 8, 9, 10: the third would be out of range.
    refused!(s.run_steps(&[], 3), RuntimeError::ScalarRange { replay: 2, value: 10.0, .. }, "`i`", "10");
    let log = s.state("log").expect("there").read().expect("reads");
    assert_eq!(floats(&log), [0.0; 30], "not even the first ran");
    assert_eq!(s.scalar("i").expect("there"), ScalarValue::Int(8));
    let y = s.run_steps(&[], 2).expect("8 and 9");
    assert_eq!(out(&y, "y")[0], 9.0);
    assert_eq!(
        s.scalar("i").expect("there"),
        ScalarValue::Int(10),
        "one past the range, for whoever sets it back"
    );
    refused!(s.run(&[]), RuntimeError::ScalarRange { replay: 0, .. }, "`i`");
    assert_eq!(out(&s.outputs().expect("of the last run"), "y")[0], 9.0);
    s.set_scalar("i", 0).expect("set back");
    assert_eq!(out(&s.run(&[]).expect("runs"), "y")[0], 0.0);
}

/// Packed or not, with guards between slots, barriers elided or naive, one run or 3 replays: the same bits.
fn options_of_the_compiler_change_nothing(fixture: &Fixture) {
    let x = tensor(&wave(16 * 9, 3), &[9, 16]);
    let mut seen: Option<Vec<Tensor>> = None;
    for (placement, guard_bytes) in [(Placement::Packed, 0), (Placement::Packed, 512), (Placement::Bump, 0)] {
        for barriers in [Barriers::Elided, Barriers::Naive] {
            let options = Options::default().placement(placement).barriers(barriers).guard_bytes(guard_bytes);
            let exe = fixture.executable(&layers(), &options);
            fill(&exe);
            let mut s = exe.session().expect("a session");
            for steps in [1, 3] {
                let replays = RunOptions::default().steps(steps);
                let y = s.run_with(&[("x", x.view())], &replays).expect("runs").into_tensors();
                assert_eq!(seen.get_or_insert_with(|| y.clone()), &y, "{options:?} {steps}");
            }
        }
    }
}
