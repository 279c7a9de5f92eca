//! Loops: no turn, one, many and all of them in one session; what turns exchange; what is inside of branches.

use crate::common::*;
use pumice_ir::{Graph, GraphBuilder, Value, bool_, f32, i32, sym};
use pumice_plan::Segment;
use pumice_runtime::{OnStatus, RunOptions, RuntimeError};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, Tensor};

on_every_device!(
    as_many_turns_as_data_ask_for,
    values_change_places,
    a_loop_that_would_go_on_says_so,
    it_ends_when_it_has_converged,
    in_a_branch_and_with_one,
    branches_of_what_no_turn_changes,
    what_turns_share_is_made_once,
    extents_that_a_turn_finds,
    a_known_number_of_turns,
);

fn word(value: i32) -> Tensor {
    Tensor::new(&[value], &[]).expect("one")
}

/// Pairs (a, b) to (b, a + b), `n` times.
fn pairs() -> Graph {
    let g = GraphBuilder::new("pairs");
    let (a, b) = (g.input("a", i32([3])), g.input("b", i32([3])));
    let n = g.input("n", i32::<u64>([]));
    let one = g.constant_scalar(DType::I32, 1.0);
    let [a, b, _] = g.while_(
        40,
        [a, b, n],
        |g, [_, _, n]| g.greater(n, g.constant_scalar(DType::I32, 0.0)),
        |g, [a, b, n]| [b, g.add(a, b), g.sub(n, one)],
    );
    g.output("a", a);
    g.output("b", b);
    g.build().expect("sound")
}

fn as_many_turns_as_data_ask_for(fixture: &Fixture) {
    let exe = load(fixture, &pairs());
    let repeats = exe.plan().runs[0].program.segments.iter().filter(|s| matches!(s, Segment::Repeat { .. }));
    assert_eq!(repeats.count(), 1, "{}", exe.plan());
    let mut s = exe.session().expect("a session");
    for n in [0, 1, 40, 2, 17, 0, 16, 33, -5, i32::MIN] {
        let (mut a, mut b) = ([0i32, 1, -3], [1i32, 1, 2]);
        let (a_in, b_in, n_in) = (Tensor::new(&a, &[3]), Tensor::new(&b, &[3]), word(n));
        let (a_in, b_in) = (a_in.expect("three"), b_in.expect("three"));
        for _ in 0..n {
            (a, b) = (b, std::array::from_fn(|i| a[i].wrapping_add(b[i])));
        }
        let made = s.run(&[("a", a_in.view()), ("b", b_in.view()), ("n", n_in.view())]).expect("runs");
        assert_eq!(ints(made.get("a").expect("there")), a, "{n}");
        assert_eq!(ints(made.get("b").expect("there")), b, "{n}");
    }
}

fn values_change_places(fixture: &Fixture) {
    let g = GraphBuilder::new("turned");
    let (a, b, c) = (g.input("a", f32([2, 3])), g.input("b", f32([2, 3])), g.input("c", f32([2, 3])));
    let turns = g.dim_of(g.input("n", f32([sym("n", 0..=40)])), 0);
    let all = g.loop_(turns, [a, b, c], |_, _, [a, b, c]| [b, c, a]);
    ["x", "y", "z"].iter().zip(all).for_each(|(name, v)| g.output(name, v));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let values = [1, 2, 3].map(|seed| wave(6, seed));
    let [a, b, c] = values.each_ref().map(|v| tensor(v, &[2, 3]));
    for n in [0usize, 1, 2, 3, 20, 40] {
        let length = tensor(&vec![0.0; n], &[n as u64]);
        let given = [("a", a.view()), ("b", b.view()), ("c", c.view()), ("n", length.view())];
        let made = s.run(&given).expect("runs");
        for (k, name) in ["x", "y", "z"].iter().enumerate() {
            assert_eq!(out(&made, name), values[(k + n) % 3], "{n} {name}");
        }
    }
}

fn a_loop_that_would_go_on_says_so(fixture: &Fixture) {
    let exe = load(fixture, &pairs());
    let mut s = exe.session().expect("a session");
    let (a, b) =
        (Tensor::new(&[0, 1, 2], &[3]).expect("three"), Tensor::new(&[1, 1, 1], &[3]).expect("three"));
    for n in [41, i32::MAX] {
        let n = word(n);
        let given = [("a", a.view()), ("b", b.view()), ("n", n.view())];
        refused!(s.run(&given), RuntimeError::Status(_), "while");
        let made = s.run_with(&given, &RunOptions::default().on_status(OnStatus::Report)).expect("runs");
        assert_eq!(ints(made.get("a").expect("there"))[0], 102_334_155);
    }
    let n = word(40);
    s.run(&[("a", a.view()), ("b", b.view()), ("n", n.view())]).expect("the last turn is the last");
}

/// x − (x² − a) / 2x until no element moves any more.
fn it_ends_when_it_has_converged(fixture: &Fixture) {
    let g = GraphBuilder::new("newton");
    let a = g.input("a", f32([sym("n", 1..=70)]));
    let half = g.constant_scalar(DType::F32, 0.5);
    let moved = |g: &GraphBuilder, [x, before]: [Value; 2]| {
        let far = g.abs(g.sub(x, before));
        g.greater(g.reduce_max(far, &[0], false), g.constant_scalar(DType::F32, 1e-3))
    };
    let start = g.add(a, g.constant_scalar(DType::F32, 1.0));
    let zero = g.mul(a, g.constant_scalar(DType::F32, 0.0));
    let [x, _] = g.while_(1000, [start, zero], moved, |g, [x, _]| [g.mul(half, g.add(x, g.div(a, x))), x]);
    g.output("x", x);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    for n in [1usize, 70, 5] {
        let a: Vec<f32> = (0..n).map(|i| 0.25 + 3.0 * i as f32).collect();
        let given = tensor(&a, &[n as u64]);
        let x = out(&s.run(&[("a", given.view())]).expect("converges"), "x");
        assert!(x.iter().zip(&a).all(|(x, a)| (x - a.sqrt()).abs() < 1e-3), "{x:?}");
    }
}

fn in_a_branch_and_with_one(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, n) = (g.input("x", i32([4])), g.input("n", i32::<u64>([])));
    let (zero, one) = (g.constant_scalar(DType::I32, 0.0), g.constant_scalar(DType::I32, 1.0));
    let looped = |g: &GraphBuilder| {
        let goes_on = |g: &GraphBuilder, [_, i]: [Value; 2]| g.less(i, n);
        let [y, _] = g.while_(1 << 24, [x, zero], goes_on, |g, [y, i]| {
            let even = g.equal(g.bitwise_and(i, one), zero);
            let [next] = g.if_(even, |g| [g.add(y, x)], |g| [g.sub(g.add(y, y), x)]);
            [next, g.add(i, one)]
        });
        [y]
    };
    let [y] = g.if_(g.input("c", bool_::<u64>([])), looped, |g| [g.neg(x)]);
    g.output("y", y);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let x = [3i32, -1, 0, 7];
    for (c, n) in [(true, 5), (false, 5), (true, 0), (true, 60), (false, i32::MAX), (true, 1)] {
        // Where the branch is not taken nothing says that the loop has ended: it must not be replayed to its bound.
        let y = |x: i32| {
            (0..n).fold(
                x,
                |y, i| {
                    if i % 2 == 0 { y.wrapping_add(x) } else { y.wrapping_add(y).wrapping_sub(x) }
                },
            )
        };
        let want: Vec<i32> = x.iter().map(|&x| if c { y(x) } else { -x }).collect();
        let x_in = Tensor::new(&x, &[4]).expect("four");
        let (n_in, c_in) = (word(n), Tensor::from_bytes(DType::Bool, &[], vec![u8::from(c)]).expect("one"));
        let made = s.run(&[("x", x_in.view()), ("n", n_in.view()), ("c", c_in.view())]).expect("runs");
        assert_eq!(ints(made.get("y").expect("there")), want, "{c} {n}");
    }
}

/// The copies that join such branches were made once, before the loop: the steps waited for each other in a circle.
fn branches_of_what_no_turn_changes(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, n) = (g.input("x", i32([4])), g.input("n", i32::<u64>([])));
    let at = g.scalar("at", i32::<u64>([]), 0.0, 9.0, 0.0);
    let (zero, one) = (g.constant_scalar(DType::I32, 0.0), g.constant_scalar(DType::I32, 1.0));
    let outside = g.neg(x);
    let [y, _] = g.while_(
        50,
        [x, zero],
        |g, [_, i]| g.less(i, n),
        |g, [y, i]| {
            let even = g.equal(g.bitwise_and(i, one), zero);
            let [found] = g.if_(even, |_| [outside], |_| [x]);
            let [known] = g.if_(g.less(at, one), |_| [outside], |g| [g.add(y, one)]);
            let [mixed] = g.if_(even, |g| [g.add(y, y)], |_| [outside]);
            [g.add(g.add(y, found), g.add(known, mixed)), g.add(i, one)]
        },
    );
    g.output("y", y);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let x = [3i32, -1, 0, 7];
    for (at, n) in [(0, 0), (0, 1), (0, 2), (1, 7), (0, 7), (1, 20), (5, 1)] {
        let turn = |x: i32, y: i32, i: i32| {
            let even = i % 2 == 0;
            let found = if even { -x } else { x };
            let known = if at < 1 { -x } else { y.wrapping_add(1) };
            let mixed = if even { y.wrapping_add(y) } else { -x };
            y.wrapping_add(found).wrapping_add(known).wrapping_add(mixed)
        };
        let want: Vec<i32> = x.iter().map(|&x| (0..n).fold(x, |y, i| turn(x, y, i))).collect();
        let (x_in, n_in) = (Tensor::new(&x, &[4]).expect("four"), word(n));
        s.set_scalar("at", at).expect("set");
        let made = s.run(&[("x", x_in.view()), ("n", n_in.view())]).expect("runs");
        assert_eq!(ints(made.get("y").expect("there")), want, "{at} {n}");
    }
}

/// What is the same in every turn is outside of the segment that is replayed.
fn what_turns_share_is_made_once(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, w) = (g.input("x", f32([5, 8])), g.param("w", f32([8, 8])));
    let n = g.dim_of(g.input("n", f32([sym("n", 0..=100)])), 0);
    let [y] = g.loop_(n, [x], |g, _, [y]| {
        let fixed = g.reduce_max(g.matmul(x, w), &[1], true);
        [g.tanh(g.add(y, fixed))]
    });
    g.output("y", y);
    let exe = load(fixture, &g.build().expect("sound"));
    let program = &exe.plan().runs[0].program;
    for segment in &program.segments {
        let Segment::Repeat { levels, .. } = segment else { continue };
        let levels = &program.levels[levels.start as usize..levels.end as usize];
        let steps = levels.iter().flat_map(|l| program.steps_of(l));
        let steps: Vec<String> = steps.map(|(_, s)| s.label()).collect();
        assert!(!steps.iter().any(|label| label.contains("matmul")), "{}", exe.plan());
        assert!(steps.len() <= 8, "{}", exe.plan());
    }
    let values = wave(64, 9);
    exe.set_param("w", &values).expect("set");
    let x = wave(40, 4);
    let fixed: Vec<f32> = x
        .chunks(8)
        .map(|row| {
            let column = |j: usize| (0..8).map(|k| row[k] * values[8 * k + j]).sum::<f32>();
            (0..8).map(column).fold(f32::NEG_INFINITY, f32::max)
        })
        .collect();
    let mut s = exe.session().expect("a session");
    for n in [0u64, 3, 100] {
        let (x_in, length) = (tensor(&x, &[5, 8]), tensor(&vec![0.0; n as usize], &[n]));
        let made = out(&s.run(&[("x", x_in.view()), ("n", length.view())]).expect("runs"), "y");
        let want = x.iter().enumerate().map(|(i, &x)| (0..n).fold(x, |y, _| (y + fixed[i / 8]).tanh()));
        assert!(made.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-4), "{n}");
    }
}

/// Elements above a bound that every turn raises, summed.
fn extents_that_a_turn_finds(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([50]));
    let turns = g.dim_of(g.input("n", f32([sym("n", 0..=30)])), 0);
    let zero = g.reshape_to(g.constant_scalar(DType::F32, 0.0), Vec::new());
    let [sum] = g.loop_(turns, [zero], |g, i, [sum]| {
        let bound = g.mul(g.cast(i, DType::F32), g.constant_scalar(DType::F32, 0.125));
        let kept = g.compress(x, g.greater(x, bound), None);
        [g.add(sum, g.reduce_sum(kept, &[0], false))]
    });
    g.output("sum", sum);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let x = wave(50, 7);
    for n in [0usize, 1, 17, 30] {
        let (x_in, length) = (tensor(&x, &[50]), tensor(&vec![0.0; n], &[n as u64]));
        let made = out(&s.run(&[("x", x_in.view()), ("n", length.view())]).expect("runs"), "sum");
        let above = |i: usize| x.iter().filter(move |x| **x > i as f32 * 0.125).sum::<f32>();
        assert_eq!(made, [(0..n).map(above).sum::<f32>()], "{n}");
    }
}

/// Few turns are built one after the other.
fn a_known_number_of_turns(fixture: &Fixture) {
    for n in [0u64, 1, 16, 17, 100] {
        let g = GraphBuilder::new("g");
        let x = g.input("x", i32([3]));
        let [y] = g.loop_(n, [x], |g, i, [y]| [g.add(g.add(y, y), i)]);
        g.output("y", y);
        let exe = load(fixture, &g.build().expect("sound"));
        let repeats = exe.plan().runs[0].program.segments.iter().any(|s| matches!(s, Segment::Repeat { .. }));
        assert_eq!(repeats, n > 16);
        let x_in = Tensor::new(&[1i32, 0, -2], &[3]).expect("three");
        let y = exe.session().expect("a session").run(&[("x", x_in.view())]).expect("runs");
        let want = [1i32, 0, -2].map(|x| (0..n as i32).fold(x, |y, i| y.wrapping_add(y).wrapping_add(i)));
        assert_eq!(ints(y.get("y").expect("there")), want, "{n}");
    }
}
