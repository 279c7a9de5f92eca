//! Updates of whole states by elementwise steps: in place where a thread reads its own element alone and nobody reads
//! the old version later, through a copy elsewhere. Results are those of plain Rust either way.

use crate::common::*;
use pumice_compile::Options;
use pumice_ir::{Graph, GraphBuilder, Value, f32};
use pumice_plan::check::{Fault, check as check_plan};
use pumice_plan::kernel::KernelName;
use pumice_plan::{Plan, RegionKind, StepKind};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::DType;

on_every_device!(
    each_element_from_itself,
    elements_from_others_are_read_before,
    who_reads_later_sees_what_was,
    two_states_from_each_other,
    an_optimizer_updates_three_states_in_one_step,
    states_that_meet_in_one_step,
);

/// Whether a step reads and writes a state.
fn in_place(plan: &Plan) -> bool {
    plan.runs[0].program.steps.iter().any(|step| {
        let in_state = |writes: bool| {
            let mut uses = step.uses.iter().filter(|u| u.access.writes() == writes);
            uses.any(|u| u.span.region == RegionKind::States)
        };
        in_state(true) && in_state(false)
    })
}

/// s\[n, n\] becomes `update(s, x)`, and is an output; three runs, against plain Rust.
fn check(
    fixture: &Fixture,
    what: &str,
    n: u64,
    expected: bool,
    update: impl Fn(&GraphBuilder, Value, Value) -> Value,
    plain: impl Fn(&[f32], &[f32], usize) -> Vec<f32>,
) {
    let g = GraphBuilder::new("update");
    let (s, x) = (g.state("s", f32([n, n])), g.input("x", f32([n, n])));
    let next = update(&g, g.state_read(s), x);
    g.state_write(s, next);
    g.output("next", next);
    let plan = fixture.plan(&g.build().expect("sound"), &Options::default());
    assert_eq!(in_place(&plan), expected, "{what}, {n}");
    let exe = fixture.load(plan);
    let mut session = exe.session().expect("a session");
    let mut now = wave((n * n) as usize, 70);
    session.state("s").expect("there").write_f32(&now).expect("written");
    for turn in 0..3 {
        let x = tensor(&wave((n * n) as usize, 80 + turn), &[n, n]);
        now = plain(&now, &floats(&x), n as usize);
        let y = run(&mut session, &x).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_close(&out(&y, "next"), &now, 1e-5, what);
        let state = floats(&session.state("s").expect("there").read().expect("reads"));
        assert_eq!(state, out(&y, "next"), "{what}, {n}, turn {turn}");
        now = state;
    }
}

fn each_element_from_itself(fixture: &Fixture) {
    for n in [1, 5, 36] {
        check(fixture, "sum", n, true, |g, s, x| g.add(s, x), |s, x, _| zip(s, x, |s, x| s + x));
        let half = |g: &GraphBuilder, v| g.mul(v, g.constant_scalar(DType::F32, 0.5));
        let decay = |g: &GraphBuilder, s, x| g.add(half(g, s), g.tanh(x));
        check(fixture, "decay", n, true, decay, |s, x, _| zip(s, x, |s, x| 0.5 * s + x.tanh()));
        // Whoever reads all of it does so in a step before.
        let centred = |g: &GraphBuilder, s, _| half(g, g.sub(s, g.reduce_max(s, &[0, 1], true)));
        let plain = |s: &[f32], _: &[f32], _| {
            let most = s.iter().copied().fold(f32::MIN, f32::max);
            map(s, |v| 0.5 * (v - most))
        };
        check(fixture, "less its maximum", n, true, centred, plain);
    }
}

fn elements_from_others_are_read_before(fixture: &Fixture) {
    let half = |g: &GraphBuilder, v| g.mul(v, g.constant_scalar(DType::F32, 0.5));
    for n in [5u64, 36] {
        let turned = |g: &GraphBuilder, s, _| half(g, g.sub(s, g.transpose(s, &[1, 0])));
        let plain = |s: &[f32], _: &[f32], n: usize| {
            (0..n * n).map(|i| 0.5 * (s[i] - s[i % n * n + i / n])).collect()
        };
        check(fixture, "transposed", n, false, turned, plain);
        let row = |g: &GraphBuilder, s, _| half(g, g.add(s, g.slice(s, &[1], &[2], &[0], &[1])));
        let plain =
            |s: &[f32], _: &[f32], n: usize| (0..n * n).map(|i| 0.5 * (s[i] + s[n + i % n])).collect();
        check(fixture, "its second row", n, false, row, plain);
        let backwards = |g: &GraphBuilder, s, _| half(g, g.slice(s, &[-1], &[-1000], &[0], &[-1]));
        let plain = |s: &[f32], _: &[f32], n: usize| {
            (0..n * n).map(|i| 0.5 * s[(n - 1 - i / n) * n + i % n]).collect()
        };
        check(fixture, "rows backwards", n, false, backwards, plain);
    }
}

/// y = −s, asked for after the update.
fn who_reads_later_sees_what_was(fixture: &Fixture) {
    let g = GraphBuilder::new("later");
    let (s, x) = (g.state("s", f32([3u64, 7])), g.input("x", f32([3u64, 7])));
    let before = g.state_read(s);
    let next = g.add(before, x);
    let after = g.state_write(s, next);
    g.output("was", g.exp(before));
    g.output("is", g.exp(g.state_read(after)));
    g.output("next", g.exp(next));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let mut now = vec![0.0f32; 21];
    for turn in 0..3 {
        let x = tensor(&wave(21, 90 + turn), &[3, 7]);
        let y = run(&mut session, &x).expect("runs");
        assert_close(&out(&y, "was"), &map(&now, f32::exp), 1e-5, "was");
        now = zip(&now, &floats(&x), |s, x| s + x);
        assert_close(&out(&y, "is"), &map(&now, f32::exp), 1e-5, "is");
        assert_close(&out(&y, "next"), &map(&now, f32::exp), 1e-5, "next");
    }
}

/// a and b take each other's place, moved by x: b' = a + x, a' = b − x.
fn exchange() -> Graph {
    let g = GraphBuilder::new("exchange");
    let x = g.input("x", f32([4u64, 4]));
    let (a, b) = (g.state("a", f32([4u64, 4])), g.state("b", f32([4u64, 4])));
    let (of_a, of_b) = (g.add(g.state_read(a), x), g.sub(g.state_read(b), x));
    g.state_write(b, of_a);
    g.state_write(a, of_b);
    g.build().expect("sound")
}

fn two_states_from_each_other(fixture: &Fixture) {
    let exe = load(fixture, &exchange());
    let mut session = exe.session().expect("a session");
    let (mut a, mut b) = (wave(16, 1), wave(16, 2));
    session.state("a").expect("there").write_f32(&a).expect("written");
    session.state("b").expect("there").write_f32(&b).expect("written");
    for turn in 0..3 {
        let x = tensor(&wave(16, 90 + turn), &[4, 4]);
        run(&mut session, &x).expect("runs");
        (a, b) = (zip(&b, &floats(&x), |b, x| b - x), zip(&a, &floats(&x), |a, x| a + x));
        for (name, want) in [("a", &a), ("b", &b)] {
            let got = floats(&session.state(name).expect("there").read().expect("reads"));
            assert_eq!(&got, want, "{name}, turn {turn}");
        }
    }
}

/// p, m, v of n x 3 under the gradient g, as Adam without its corrections: m' = 0.9 m + 0.1 g, v' = 0.99 v + 0.01 g²,
/// p' = p − 0.1 m' / (√v' + 0.001). With `through` p' takes m' and v' from the states that were written.
fn adam(n: u64, through: bool) -> Graph {
    let g = GraphBuilder::new("adam");
    let ty = || f32([n, 3]);
    let grad = g.input("x", ty());
    let (p, m, v) = (g.state("p", ty()), g.state("m", ty()), g.state("v", ty()));
    let scaled = |x, by: f64| g.mul(x, g.constant_scalar(DType::F32, by));
    let m1 = g.add(scaled(g.state_read(m), 0.9), scaled(grad, 0.1));
    let v1 = g.add(scaled(g.state_read(v), 0.99), scaled(g.mul(grad, grad), 0.01));
    let (m2, v2) = (g.state_write(m, m1), g.state_write(v, v1));
    let (m1, v1) = if through { (g.state_read(m2), g.state_read(v2)) } else { (m1, v1) };
    let root = g.add(g.sqrt(v1), g.constant_scalar(DType::F32, 0.001));
    g.state_write(p, g.sub(g.state_read(p), scaled(g.div(m1, root), 0.1)));
    g.build().expect("sound")
}

/// One dispatch, no scratch, no copy; also where the new moments are read back from their states. Against plain Rust.
fn an_optimizer_updates_three_states_in_one_step(fixture: &Fixture) {
    for (n, through) in [(1, false), (4, true), (57, false), (57, true)] {
        let plan = fixture.plan(&adam(n, through), &Options::default());
        let steps: Vec<String> = plan.runs[0].program.steps.iter().map(|s| s.label()).collect();
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!(in_place(&plan) && plan.runs[0].stats.scratch.0 == 0, "{}", plan.runs[0].stats.scratch.0);
        let exe = fixture.load(plan);
        let mut session = exe.session().expect("a session");
        let len = 3 * n as usize;
        let mut now = [wave(len, 11), wave(len, 12), map(&wave(len, 13), f32::abs)];
        for (name, values) in ["p", "m", "v"].into_iter().zip(&now) {
            session.state(name).expect("there").write_f32(values).expect("written");
        }
        for turn in 0..3 {
            let x = tensor(&wave(len, 60 + turn), &[n, 3]);
            run(&mut session, &x).expect("runs");
            let grad = floats(&x);
            let m = zip(&now[1], &grad, |m, g| 0.9 * m + 0.1 * g);
            let v = zip(&now[2], &grad, |v, g| 0.99 * v + 0.01 * g * g);
            let by = zip(&m, &v, |m, v| 0.1 * m / (v.sqrt() + 0.001));
            now = [zip(&now[0], &by, |p, by| p - by), m, v];
            for (name, want) in ["p", "m", "v"].into_iter().zip(&now) {
                let got = floats(&session.state(name).expect("there").read().expect("reads"));
                assert_close(&got, want, 1e-4, name);
            }
        }
    }
}

/// One step with two results for states. a' = a + b, b' = a' − transposed b: b is read by others and gets a copy, a is
/// written in place; and a written twice in one step ends as the second value.
fn states_that_meet_in_one_step(fixture: &Fixture) {
    let g = GraphBuilder::new("meet");
    let ty = || f32([5u64, 5]);
    let x = g.input("x", ty());
    let (a, b) = (g.state("a", ty()), g.state("b", ty()));
    let (old_a, old_b) = (g.state_read(a), g.state_read(b));
    let sum = g.add(g.add(old_a, old_b), x);
    let less = g.sub(sum, g.transpose(old_b, &[1, 0]));
    let a1 = g.state_write(a, sum);
    g.state_write(b, less);
    g.state_write(a1, g.mul(sum, less));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let (mut a, mut b) = (wave(25, 1), wave(25, 2));
    session.state("a").expect("there").write_f32(&a).expect("written");
    session.state("b").expect("there").write_f32(&b).expect("written");
    for turn in 0..3 {
        let x = tensor(&wave(25, 90 + turn), &[5, 5]);
        run(&mut session, &x).expect("runs");
        let sum = zip(&zip(&a, &b, |a, b| a + b), &floats(&x), |s, x| s + x);
        let less: Vec<f32> = (0..25).map(|i| sum[i] - b[i % 5 * 5 + i / 5]).collect();
        (a, b) = (zip(&sum, &less, |s, l| s * l), less);
        for (name, want) in [("a", &a), ("b", &b)] {
            let got = floats(&session.state(name).expect("there").read().expect("reads"));
            assert_close(&got, want, 1e-4, name);
        }
    }
}

/// The checker lets a kernel write what it reads only where its declaration says so.
#[test]
fn a_kernel_that_reads_what_others_write_does_not_write_in_place() {
    let mut plan = Fixture::interpreter().plan(&adam(4, false), &Options::default());
    assert!(check_plan(&plan).is_ok());
    let StepKind::Dispatch { call, .. } = &mut plan.runs[0].program.steps[0].kind else {
        panic!("a dispatch")
    };
    call.kernel = KernelName("reduce_rows".into());
    let faults = check_plan(&plan).expect_err("a reduction in place");
    assert!(faults.iter().any(|f| matches!(f.fault, Fault::SelfOverlap { .. })), "{faults:?}");
}

/// The checker lets a step write what it reads only where both are seen alike.
#[test]
fn a_state_that_is_seen_otherwise_is_not_written_in_place() {
    let g = GraphBuilder::new("square");
    let s = g.state("s", f32([6u64, 6]));
    let before = g.state_read(s);
    g.state_write(s, g.add(before, before));
    let mut plan = Fixture::interpreter().plan(&g.build().expect("sound"), &Options::default());
    assert!(in_place(&plan) && check_plan(&plan).is_ok());
    let step = &mut plan.runs[0].program.steps[0];
    let read = step.uses.iter_mut().find(|u| !u.access.writes()).expect("it reads the state");
    std::sync::Arc::make_mut(&mut read.view).strides.reverse();
    let faults = check_plan(&plan).expect_err("a transposed read of what others write");
    assert!(faults.iter().any(|f| matches!(f.fault, Fault::SelfOverlap { .. })), "{faults:?}");
}
