//! Host steps: first, in the middle, last, several in a row; with states, scalars and feeds around them.

use crate::common::*;
use pumice_ir::ops::fft::Fft;
use pumice_ir::{FeedKind, Graph, GraphBuilder, Value, f32, sym};
use pumice_plan::{Program, Segment};
use pumice_runtime::{RunOptions, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, DimExpr, Tensor};

on_every_device!(first, in_the_middle, last, everywhere, with_states_scalars_and_feeds, several_replays);

/// The longest row.
const N: usize = 12;

/// Σ xₜ·e^(−2πikt/n) of every row of n values, for all k or for k ≤ n/2, as pairs.
fn spectrum(x: &[f32], n: usize, half: bool) -> Vec<f32> {
    let one = |row: &[f32], k: usize| {
        let angle = |t: usize| -std::f64::consts::TAU * ((k * t) % n) as f64 / n as f64;
        let part = |f: fn(f64) -> f64| -> f64 {
            row.iter().enumerate().map(|(t, v)| f64::from(*v) * f(angle(t))).sum()
        };
        [part(f64::cos) as f32, part(f64::sin) as f32]
    };
    let count = if half { n / 2 + 1 } else { n };
    x.chunks(n).flat_map(|row| (0..count).flat_map(|k| one(row, k)).collect::<Vec<_>>()).collect()
}

fn forward(g: &GraphBuilder, x: Value) -> Value {
    g.fft(x, Fft { onesided: true, ..Fft::default() })
}

/// `body` over x\[b, n, 1\] → output `y`.
fn graph(name: &str, body: impl Fn(&GraphBuilder, Value) -> Value) -> Graph {
    let g = GraphBuilder::new(name);
    let x = g.input("x", f32([sym("b", 1..=3), sym("n", 1..=N as u64), 1.into()]));
    g.output("y", body(&g, x));
    g.build().expect("sound")
}

/// Which segments are the host's.
fn segments(program: &Program) -> Vec<bool> {
    program.segments.iter().map(|s| matches!(s, Segment::Host { .. })).collect()
}

/// Steps of the device before the first host step and after the last one.
fn around(program: &Program) -> (Vec<&str>, Vec<&str>) {
    let host = |s: &pumice_plan::Step| s.is_host();
    let first = program.steps.iter().position(host).expect("a host step");
    let last = program.steps.iter().rposition(host).expect("a host step");
    let names = |range: std::ops::Range<usize>| program.steps[range].iter().map(|s| &*s.origin).collect();
    (names(0..first), names(last + 1..program.steps.len()))
}

/// Runs with several extents, again and again, reads in part, and compares with `plain`, which gets rows of n values.
fn check(fixture: &Fixture, graph: &Graph, hosts: &[bool], plain: impl Fn(&[f32], usize) -> Vec<f32>) {
    let exe = load(fixture, graph);
    assert_eq!(segments(&exe.plan().runs[0].program), hosts, "{}", exe.plan());
    let mut s = exe.session().expect("a session");
    for (turn, (b, n)) in [(2, N), (1, 1), (3, 7), (3, N), (1, 2)].into_iter().enumerate() {
        let x = tensor(&wave(b * n, turn as u32), &[b as u64, n as u64, 1]);
        let want = plain(&floats(&x), n);
        let y = run(&mut s, &x).expect("runs");
        assert_close(&out(&y, "y"), &want, 1e-5, &format!("{}, {b} of {n}", graph.name()));
        let row = floats(&s.output_row("y", b as u64 - 1).expect("in part"));
        assert_eq!(row, out(&y, "y")[want.len() - want.len() / b..]);
        let again = s.run_read(&[("x", x.view())], &[0]).expect("runs");
        assert_eq!(&again[0], y.get("y").expect("there"), "twice the same bits");
        check_profile(&mut s, &x, hosts, &again[0]);
    }
}

/// A profiled run has a time for host steps as well, and the same results.
fn check_profile(s: &mut Session, x: &Tensor, hosts: &[bool], y: &Tensor) {
    let profile = s.profile(&[("x", x.view())], &RunOptions::default()).expect("profiles");
    let timed = profile.steps.iter().filter(|s| s.label == "host").count();
    assert_eq!(timed, hosts.iter().filter(|h| **h).count());
    assert_eq!(&s.output("y").expect("it ran"), y);
}

/// Only a copy, which brings the input to where a host step reads, is before it.
fn first(fixture: &Fixture) {
    let graph = graph("first", |g, x| g.tanh(forward(g, x)));
    let exe = load(fixture, &graph);
    let program = &exe.plan().runs[0].program;
    let host = program.steps.iter().find(|s| s.is_host()).expect("a host step");
    let (before, after) = around(program);
    assert!(before.iter().all(|o| **o == *host.origin) && before.len() <= 1, "{before:?}");
    assert_eq!(after.len(), 1, "{after:?}");
    check(fixture, &graph, &segments(program), |x, n| map(&spectrum(x, n, true), f32::tanh));
}

fn in_the_middle(fixture: &Fixture) {
    let graph = graph("middle", |g, x| {
        let h = g.relu(g.add(x, x));
        g.square(forward(g, h))
    });
    let plain = |x: &[f32], n: usize| {
        let h = map(x, |v| (2.0 * v).max(0.0));
        map(&spectrum(&h, n, true), |v| v * v)
    };
    check(fixture, &graph, &[false, true, false], plain);
}

/// Only a copy of its result to the output is after it (`io`).
fn last(fixture: &Fixture) {
    let graph = graph("last", |g, x| forward(g, g.mul(x, g.constant_scalar(DType::F32, 3.0))));
    let exe = load(fixture, &graph);
    let program = &exe.plan().runs[0].program;
    let (before, after) = around(program);
    assert_eq!((before, after), (vec!["mul", "fft"], vec!["io"]), "the product, and copies");
    check(fixture, &graph, &segments(program), |x, n| spectrum(&map(x, |v| v * 3.0), n, true));
}

/// There and back again, doubled in between, and there once more: three host steps with the device's between.
pub fn everywhere(fixture: &Fixture) {
    let graph = graph("everywhere", |g, x| {
        let y = g.fft(x, Fft::default());
        let y = g.fft(g.add(y, y), Fft { inverse: true, ..Fft::default() });
        g.fft(g.neg(y), Fft::default())
    });
    let exe = load(fixture, &graph);
    let hosts = segments(&exe.plan().runs[0].program);
    assert_eq!(hosts.iter().filter(|h| **h).count(), 3);
    check(fixture, &graph, &hosts, |x, n| map(&spectrum(x, n, false), |v| -2.0 * v));
}

/// acc += gain·x; its spectrum is logged at a row that advances.
fn stateful() -> Graph {
    let g = GraphBuilder::new("stateful");
    let x = g.input("x", f32([1u64, N as u64, 1]));
    let (acc, log) = (g.state("acc", f32([1u64, N as u64, 1])), g.state("log", f32([6u64, 7, 2])));
    let at = g.scalar_advancing("at", 0, 6, 0, DimExpr::constant(1));
    let gain = g.scalar("gain", f32::<u64>([]), 0.0, 4.0, 1.0);
    let sum = g.add(g.state_read(acc), g.mul(x, gain));
    g.state_write(acc, sum);
    g.output("y", forward(&g, sum));
    let (zero, one) = (DimExpr::constant(0), DimExpr::constant(1));
    g.feed("y", log, FeedKind::Row { axis: 0, src: zero, dst: g.scalar_expr(at), count: one });
    g.output("logged", g.state_read(log));
    g.build().expect("sound")
}

fn read(s: &mut Session, name: &str) -> Vec<f32> {
    floats(&s.state(name).expect("there").read().expect("reads"))
}

pub fn with_states_scalars_and_feeds(fixture: &Fixture) {
    let exe = load(fixture, &stateful());
    let mut s = exe.session().expect("a session");
    let (mut acc, mut log) = (vec![0f32; N], vec![0f32; 6 * 14]);
    for at in 0..6usize {
        let gain = [0.5f32, 1.0, 2.0][at % 3];
        s.set_scalar("gain", gain).expect("in range");
        let x = wave(N, at as u32);
        let y = s.run(&[("x", tensor(&x, &[1, N as u64, 1]).view())]).expect("runs");
        assert_close(&out(&y, "logged"), &log, 1e-5, "before the feed");
        acc = zip(&acc, &x, |a, x| a + gain * x);
        let now = spectrum(&acc, N, true);
        log[14 * at..14 * at + 14].copy_from_slice(&now);
        assert_close(&out(&y, "y"), &now, 1e-5, "y");
        assert_eq!(read(&mut s, "acc"), acc);
        assert_close(&read(&mut s, "log"), &log, 1e-5, "after the feed");
        let row = s.state("log").expect("there").read_row(at as u64).expect("one row");
        assert_eq!(floats(&row), out(&y, "y"));
    }
    let full = s.run(&[("x", tensor(&wave(N, 1), &[1, N as u64, 1]).view())]);
    refused!(full, RuntimeError::RunCheck { .. }, "state log");
    assert_eq!(read(&mut s, "acc"), acc, "refused before the host step");
}

/// Steps of one call equal calls of one step, though each is a submission of its own.
fn several_replays(fixture: &Fixture) {
    let exe = load(fixture, &stateful());
    let (mut one, mut many) = (exe.session().expect("a session"), exe.session().expect("a session"));
    let x = tensor(&wave(N, 1), &[1, N as u64, 1]);
    let mut last = None;
    for _ in 0..5 {
        last = Some(run(&mut one, &x).expect("runs"));
    }
    let y = many.run_steps(&[("x", x.view())], 5).expect("runs");
    assert_eq!(Some(y.into_tensors()), last.map(|y| y.into_tensors()));
    assert_eq!(read(&mut many, "log"), read(&mut one, "log"));
    assert_eq!(read(&mut many, "acc"), map(&floats(&x), |v| 5.0 * v));
    assert_eq!(many.scalar("at").expect("there").as_i64(), Some(5));
    let over = many.run_steps(&[("x", x.view())], 2);
    refused!(over, RuntimeError::RunCheck { replay: 1, .. }, "replay 1");
    assert_eq!(read(&mut many, "acc"), map(&floats(&x), |v| 5.0 * v), "neither of the two ran");
    many.run_steps(&[("x", x.view())], 1).expect("one more fits");
    assert_eq!(read(&mut many, "acc"), map(&floats(&x), |v| 6.0 * v));
}
