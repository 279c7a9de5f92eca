//! Branches: taken one way and the other in one session; what is not taken neither reports, nor runs on the host, nor
//! leaks its NaN.

use crate::common::*;
use pumice_ir::ops::fft::Fft;
use pumice_ir::{Graph, GraphBuilder, Value, bool_, f32, i32, sym};
use pumice_plan::Segment;
use pumice_runtime::{OnStatus, RunOptions, RuntimeError};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, Tensor};

on_every_device!(
    both_ways_in_one_session,
    every_integer_but_zero_is_true,
    what_is_not_taken_does_not_leak,
    what_is_not_taken_does_not_report,
    the_host_leaves_out_what_is_not_taken,
    extents_and_scalars_decide_before_the_run,
    one_of_sixteen,
    a_branch_of_what_has_no_elements,
);

fn truth(is: bool) -> Tensor {
    Tensor::from_bytes(DType::Bool, &[], vec![u8::from(is)]).expect("one")
}

/// y = x + x where c, else x·x, and s, the sum of y.
fn doubled_or_squared() -> Graph {
    let g = GraphBuilder::new("doubled or squared");
    let x = g.input("x", f32([sym("n", 1..=70), 3.into()]));
    let [y] = g.if_(g.input("c", bool_::<u64>([])), |g| [g.add(x, x)], |g| [g.mul(x, x)]);
    g.output("y", y);
    g.output("s", g.reduce_sum(y, &[0, 1], false));
    g.build().expect("sound")
}

fn both_ways_in_one_session(fixture: &Fixture) {
    let exe = load(fixture, &doubled_or_squared());
    let program = &exe.plan().runs[0].program;
    assert!(matches!(program.segments[..], [Segment::Gpu { .. }]), "{}", exe.plan());
    let mut s = exe.session().expect("a session");
    for (turn, rows) in [1, 70, 3, 64, 1, 7].into_iter().enumerate() {
        let (values, c) = (wave(3 * rows, turn as u32), turn % 3 != 1);
        let (x, c_in) = (tensor(&values, &[rows as u64, 3]), truth(c));
        let out_of = s.run(&[("x", x.view()), ("c", c_in.view())]).expect("runs");
        let want = zip(&values, &values, |a, b| if c { a + b } else { a * b });
        assert_eq!(out(&out_of, "y"), want, "turn {turn}");
        assert_eq!(out(&out_of, "s"), [want.iter().sum::<f32>()], "turn {turn}");
    }
}

fn every_integer_but_zero_is_true(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, n) = (g.input("x", f32([2])), g.input("n", f32::<u64>([])));
    let [y] = g.if_(g.cast(n, DType::Bool), |g| [g.neg(x)], |_| [x]);
    let m = g.input("m", i32([1, 1]));
    let [z] = g.if_(g.cast(m, DType::Bool), |g| [g.neg(x)], |_| [x]);
    g.output("y", y);
    g.output("z", z);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let x = tensor(&[1.5, -2.0], &[2]);
    let ints = [0, 1, -1, i32::MIN, i32::MAX, 2];
    for (n, m) in [f32::NAN, 0.0, -0.0, f32::INFINITY, f32::MIN_POSITIVE, -1.0].into_iter().zip(ints) {
        let (of_n, of_m) = (tensor(&[n], &[]), Tensor::new(&[m], &[1, 1]).expect("one"));
        let given = [("x", x.view()), ("n", of_n.view()), ("m", of_m.view())];
        let outputs = s.run(&given).expect("runs");
        let want = |is: bool| if is { [-1.5, 2.0] } else { [1.5, -2.0] };
        assert_eq!(out(&outputs, "y"), want(n != 0.0), "{n}");
        assert_eq!(out(&outputs, "z"), want(m != 0), "{m}");
    }
}

fn what_is_not_taken_does_not_leak(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, c) = (g.input("x", f32([3])), g.input("c", bool_::<u64>([])));
    let zero = g.constant_scalar(DType::F32, 0.0);
    let [y] = g.if_(c, |g| [g.reduce_sum(g.div(x, zero), &[0], true)], |g| [g.reduce_sum(x, &[0], true)]);
    g.output("y", y);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let x = tensor(&[1.0, -1.0, 0.0], &[3]);
    for c in [true, false, false, true] {
        let y = s.run(&[("x", x.view()), ("c", truth(c).view())]).expect("runs");
        assert_eq!(out(&y, "y")[0].is_nan(), c);
    }
}

fn what_is_not_taken_does_not_report(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, i) = (g.input("x", f32([3])), g.input("i", i32([2])));
    let [y] =
        g.if_(g.input("c", bool_::<u64>([])), |g| [g.gather(x, i, 0)], |g| [g.narrow(x, 0, 0u64, 2u64)]);
    g.output("y", y);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let (x, i) = (tensor(&[1.0, 2.0, 3.0], &[3]), Tensor::new(&[2i32, 99], &[2]).expect("two"));
    let mut run = |c: bool| {
        let c = truth(c);
        s.run(&[("x", x.view()), ("i", i.view()), ("c", c.view())])
    };
    assert_eq!(out(&run(false).expect("nothing is wrong"), "y"), [1.0, 2.0]);
    refused!(run(true), RuntimeError::Status(_), "gather");
    assert_eq!(out(&run(false).expect("nothing is wrong"), "y"), [1.0, 2.0]);
}

fn forward(g: &GraphBuilder, x: Value) -> Value {
    g.fft(x, Fft { onesided: true, ..Fft::default() })
}

/// Transforms along an axis of a symbol are the host's.
fn the_host_leaves_out_what_is_not_taken(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([2.into(), sym("n", 1..=12), 1.into()]));
    let kept = g.extent_of(g.input("count", i32::<u64>([])), 0..=2);
    let [y] = g.if_(
        g.input("c", bool_::<u64>([])),
        |g| [g.reduce_sum(forward(g, g.narrow(x, 0, 0u64, kept.clone())), &[0, 1], false)],
        |g| [g.constant(tensor(&[7.0, 8.0], &[2]))],
    );
    g.output("y", y);
    let exe = load(fixture, &g.build().expect("sound"));
    let hosts = exe.plan().runs[0].program.segments.iter().filter(|s| matches!(s, Segment::Host { .. }));
    assert_eq!(hosts.count(), 1, "{}", exe.plan());
    let mut s = exe.session().expect("a session");
    for (turn, (c, count, n)) in
        [(true, 1, 4), (false, 2, 4), (true, 2, 9), (true, 0, 1)].into_iter().enumerate()
    {
        let values = wave(2 * n, turn as u32);
        let (x, c_in) = (tensor(&values, &[2, n as u64, 1]), truth(c));
        let count_in = Tensor::new(&[count], &[]).expect("one");
        let given = [("x", x.view()), ("c", c_in.view()), ("count", count_in.view())];
        let y = out(&s.run(&given).expect("runs"), "y");
        let want = if c { plain_sums(&values, n, count as usize) } else { vec![7.0, 8.0] };
        let near = y.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-4);
        assert!(near, "turn {turn}: {y:?}, not {want:?}");
    }
}

/// The sums of real and of imaginary parts of the spectra of so many rows, up to half their length.
fn plain_sums(x: &[f32], n: usize, rows: usize) -> Vec<f32> {
    let mut sums = [0f64; 2];
    for row in x.chunks(n).take(rows) {
        for (k, t) in (0..n / 2 + 1).flat_map(|k| (0..n).map(move |t| (k, t))) {
            let angle = -std::f64::consts::TAU * (k * t) as f64 / n as f64;
            sums[0] += f64::from(row[t]) * angle.cos();
            sums[1] += f64::from(row[t]) * angle.sin();
        }
    }
    sums.map(|v| v as f32).to_vec()
}

fn extents_and_scalars_decide_before_the_run(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([sym("n", 1..=8)]));
    let at = g.scalar("at", i32::<u64>([]), -3.0, 100.0, 0.0);
    let long = g.greater_or_equal(g.extent(x, 0), g.constant_scalar(DType::I32, 5.0));
    let odd = g.not_equal(at, g.constant_scalar(DType::I32, 4.0));
    let [y] = g.if_(g.and(long, odd), |g| [g.reduce_sum(x, &[0], true)], |g| [g.reduce_max(x, &[0], true)]);
    g.output("y", y);
    let graph = g.build().expect("sound");
    assert_eq!(graph.symbols().found().count(), 0, "the host knows all of it");
    let exe = load(fixture, &graph);
    let mut s = exe.session().expect("a session");
    for (n, at) in [(8, 0), (4, 0), (5, 4), (5, -3), (5, 100), (1, 4)] {
        let values = wave(n, at as u32);
        s.set_scalar("at", f64::from(at)).expect("a scalar");
        let x = tensor(&values, &[n as u64]);
        let y = out(&s.run(&[("x", x.view())]).expect("runs"), "y");
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let want = if n >= 5 && at != 4 { values.iter().sum() } else { most };
        assert_eq!(y, [want], "{n}, {at}");
    }
}

/// A table of branches, each of which is in the second branch of the one before.
fn one_of_sixteen(fixture: &Fixture) {
    let g = GraphBuilder::new("table");
    let (x, k) = (g.input("x", f32([3])), g.input("k", i32::<u64>([])));
    let table: Vec<Value> = (0..16).map(|i| g.constant_scalar(DType::F32, f64::from(i))).collect();
    let chosen = (0..4).rev().fold(table, |level, bit| {
        let half = level.len() / 2;
        let mask = g.constant_scalar(DType::I32, f64::from(1 << bit));
        let is_set = g.cast(g.bitwise_and(k, mask), DType::Bool);
        let taken = g.choice(is_set);
        let scaled = |v: Value| g.mul(v, g.constant_scalar(DType::F32, 1.0));
        (0..half).map(|i| g.join_branches(&taken, scaled(level[half + i]), scaled(level[i]))).collect()
    });
    g.output("y", g.add(x, chosen[0]));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let x = tensor(&[0.0, 0.5, -1.0], &[3]);
    for k in [0i32, 15, 7, 8, 1, 14] {
        let k_in = Tensor::new(&[k], &[]).expect("one");
        let y = s.run_with(
            &[("x", x.view()), ("k", k_in.view())],
            &RunOptions::default().on_status(OnStatus::Error),
        );
        let k = k as f32;
        assert_eq!(out(&y.expect("runs"), "y"), [k, k + 0.5, k - 1.0]);
    }
}

/// As many elements as are found among none, or the other branch's.
fn a_branch_of_what_has_no_elements(fixture: &Fixture) {
    let g = GraphBuilder::new("none");
    let (none, x) = (g.input("none", i32([0])), g.input("x", i32([3])));
    let taken = g.input("taken", bool_::<u64>([]));
    let zero = g.constant_scalar(DType::I32, 0.0);
    let [y] = g.if_(taken, |g| [g.compress(none, g.greater(none, zero), None)], |_| [x]);
    g.output("y", y);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let (none, x) =
        (Tensor::new(&[0i32; 0], &[0]).expect("none"), Tensor::new(&[4, 5, 6], &[3]).expect("three"));
    for taken in [true, false, true] {
        let made = session
            .run(&[("none", none.view()), ("x", x.view()), ("taken", truth(taken).view())])
            .expect("runs");
        let want: &[i32] = if taken { &[] } else { &[4, 5, 6] };
        assert_eq!(ints(made.get("y").expect("there")), want);
    }
}
