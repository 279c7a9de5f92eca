//! Feeds: whole, prefix and row, from snapshots taken before any state is written.

use crate::common::*;
use pumice_ir::{FeedKind, Graph, GraphBuilder, f32, sym};
use pumice_runtime::{RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, DimExpr};

on_every_device!(
    two_states_swap,
    three_states_turn_and_one_reads_what_it_writes,
    a_prefix_as_long_as_a_symbol,
    rows_where_scalars_say,
    rows_out_of_range_change_nothing,
    rows_at_the_ends_of_their_type,
    outputs_show_what_was_before,
    several_feeds_into_one_state,
    feeds_of_no_rows_keep_the_order,
    narrower_states_are_fed,
);

fn state(s: &mut Session, name: &str) -> Vec<f32> {
    floats(&s.state(name).unwrap_or_else(|e| panic!("{e}")).read().unwrap_or_else(|e| panic!("{e}")))
}

/// Nothing but two reads and two feeds: whoever writes first must not be seen by the other.
pub fn two_states_swap(fixture: &Fixture) {
    let g = GraphBuilder::new("swap");
    let (a, b) = (g.state("a", f32([5u64])), g.state("b", f32([5u64])));
    g.output("a", g.state_read(a));
    g.output("b", g.state_read(b));
    g.feed("a", b, FeedKind::Whole);
    g.feed("b", a, FeedKind::Whole);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let mut v = [wave(5, 1), wave(5, 2)];
    s.state("a").expect("there").write_f32(&v[0]).expect("written");
    s.state("b").expect("there").write_f32(&v[1]).expect("written");
    for turn in 0..5 {
        let y = s.run(&[]).expect("runs");
        assert_eq!([out(&y, "a"), out(&y, "b")], v, "turn {turn}");
        v.swap(0, 1);
        assert_eq!([state(&mut s, "a"), state(&mut s, "b")], v, "turn {turn}");
    }
    let y = s.run_steps(&[], 6).expect("six in one submission");
    v.swap(0, 1);
    assert_eq!([out(&y, "a"), out(&y, "b")], v, "the last replay saw them swapped once more");
    v.swap(0, 1);
    assert_eq!([state(&mut s, "a"), state(&mut s, "b")], v);
}

/// a ← b, b ← c, c ← 2c + a, all of the values before.
pub fn three_states_turn_and_one_reads_what_it_writes(fixture: &Fixture) {
    let g = GraphBuilder::new("turn");
    let [a, b, c] = ["a", "b", "c"].map(|n| g.state(n, f32([4u64])));
    let (ra, rb, rc) = (g.state_read(a), g.state_read(b), g.state_read(c));
    g.output("b", rb);
    g.output("c", rc);
    g.output("mixed", g.add(g.add(rc, rc), ra));
    g.feed("mixed", c, FeedKind::Whole);
    g.feed("b", a, FeedKind::Whole);
    g.feed("c", b, FeedKind::Whole);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let mut v = [wave(4, 1), wave(4, 2), wave(4, 3)];
    for (name, v) in ["a", "b", "c"].iter().zip(&v) {
        s.state(name).expect("there").write_f32(v).expect("written");
    }
    for turn in 0..6 {
        s.run(&[]).expect("runs");
        let [a, b, c] = v;
        let mixed = zip(&c, &a, |c, a| c + c + a);
        v = [b, c, mixed];
        assert_eq!(["a", "b", "c"].map(|n| state(&mut s, n)), v, "turn {turn}");
    }
}

/// s\[0..n) = x + s\[0..1), s\[6, 2\].
pub fn a_prefix_as_long_as_a_symbol(fixture: &Fixture) {
    let g = GraphBuilder::new("prefix");
    let x = g.input("x", f32([sym("n", 0..=6), 2.into()]));
    let s = g.state("s", f32([6u64, 2]));
    let t = g.state("t", f32([2u64, 6]));
    let y = g.add(x, g.narrow(g.state_read(s), 0, 0u64, 1u64));
    g.output("y", y);
    g.feed("y", s, FeedKind::Prefix { axis: 0, len: g.dim_of(x, 0) });
    // The other axis, and a length that is not the output's.
    g.output("turned", g.transpose(y, &[1, 0]));
    let half = g.dim_of(x, 0).floor_div(&DimExpr::constant(2));
    g.feed("turned", t, FeedKind::Prefix { axis: 1, len: half });
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let (mut rows, mut turned) = (wave(12, 50), vec![0f32; 12]);
    s.state("s").expect("there").write_f32(&rows).expect("written");
    for (turn, n) in [3usize, 0, 6, 1, 4, 5].into_iter().enumerate() {
        let x = wave(2 * n, turn as u32);
        let y = zip(&x, &rows[..2], |x, s| x + s);
        let got = s.run(&[("x", tensor(&x, &[n as u64, 2]).view())]).expect("runs");
        assert_eq!(out(&got, "y"), y, "n {n}");
        rows[..2 * n].copy_from_slice(&y);
        for j in 0..n / 2 {
            (turned[j], turned[6 + j]) = (y[2 * j], y[2 * j + 1]);
        }
        assert_eq!(state(&mut s, "s"), rows, "n {n}");
        assert_eq!(state(&mut s, "t"), turned, "n {n}");
    }
}

/// s\[dst..dst + count) = y\[src..src + count), s\[8, 3\], y\[5, 3\] = 2x.
fn rows_graph() -> Graph {
    let g = GraphBuilder::new("rows");
    let x = g.input("x", f32([5u64, 3]));
    let scalar = |name: &str, max: f64| g.scalar(name, pumice_ir::i32::<u64>([]), -4.0, max, 0.0);
    let [src, dst, count] =
        [("src", 9.0), ("dst", 9.0), ("count", 9.0)].map(|(n, m)| g.scalar_expr(scalar(n, m)));
    let s = g.state("s", f32([8u64, 3]));
    let calls = g.state("calls", f32([1u64]));
    g.state_write(calls, g.add(g.state_read(calls), g.constant_scalar(DType::F32, 1.0)));
    g.output("y", g.add(x, x));
    g.feed("y", s, FeedKind::Row { axis: 0, src, dst, count });
    g.build().expect("sound")
}

fn set_scalars(s: &mut Session, [src, dst, count]: [i64; 3]) {
    s.set_scalar("src", src).expect("in range");
    s.set_scalar("dst", dst).expect("in range");
    s.set_scalar("count", count).expect("in range");
}

pub fn rows_where_scalars_say(fixture: &Fixture) {
    let exe = load(fixture, &rows_graph());
    let mut s = exe.session().expect("a session");
    let mut rows = wave(24, 60);
    s.state("s").expect("there").write_f32(&rows).expect("written");
    for (turn, at) in
        [[0, 0, 1], [4, 7, 1], [1, 2, 3], [0, 3, 5], [2, 5, 0], [5, 8, 0]].into_iter().enumerate()
    {
        set_scalars(&mut s, at);
        let x = wave(15, turn as u32);
        let y = map(&x, |v| 2.0 * v);
        let got = s.run(&[("x", tensor(&x, &[5, 3]).view())]).expect("runs");
        assert_eq!(out(&got, "y"), y);
        let [src, dst, count] = at.map(|v| 3 * v as usize);
        rows[dst..dst + count].copy_from_slice(&y[src..src + count]);
        assert_eq!(state(&mut s, "s"), rows, "{at:?}");
        let last = s.state("s").expect("there").read_row(7).expect("one row");
        assert_eq!(floats(&last), rows[21..]);
    }
}

fn rows_out_of_range_change_nothing(fixture: &Fixture) {
    let exe = load(fixture, &rows_graph());
    let mut s = exe.session().expect("a session");
    let rows = wave(24, 60);
    s.state("s").expect("there").write_f32(&rows).expect("written");
    let x = tensor(&wave(15, 1), &[5, 3]);
    for at in [[4, 0, 2], [0, 7, 2], [-1, 0, 1], [0, -1, 1], [0, 0, -1], [6, 0, 0], [0, 9, 0], [0, 0, 6]] {
        set_scalars(&mut s, at);
        refused!(run(&mut s, &x), RuntimeError::RunCheck { replay: 0, .. }, "state s");
        assert_eq!((state(&mut s, "s"), state(&mut s, "calls")), (rows.clone(), vec![0.0]), "{at:?}");
        refused!(s.outputs(), RuntimeError::NoResults, "run");
    }
    set_scalars(&mut s, [0, 0, 5]);
    run(&mut s, &x).expect("goes on");
    let twice = map(&floats(&x), |v| 2.0 * v);
    assert_eq!(state(&mut s, "s"), [&twice[..], &rows[15..]].concat());
    assert_eq!(state(&mut s, "calls"), [1.0]);
}

/// A row of s and a prefix of t from y\[5, 3\] = 2x, where scalars of all values of a type say.
fn ends_graph(dtype: DType, [least, most]: [i64; 2]) -> Graph {
    let g = GraphBuilder::new("ends");
    let x = g.input("x", f32([5u64, 3]));
    let scalar = |name: &str| {
        let ty = pumice_ir::tensor::<u64>(dtype, []);
        g.scalar_expr(g.scalar(name, ty, least as f64, most as f64, 0.0))
    };
    let [src, dst, count, len] = ["src", "dst", "count", "len"].map(scalar);
    let (s, t) = (g.state("s", f32([8u64, 3])), g.state("t", f32([8u64, 3])));
    g.output("y", g.add(x, x));
    g.feed("y", s, FeedKind::Row { axis: 0, src, dst, count });
    g.feed("y", t, FeedKind::Prefix { axis: 0, len });
    g.build().expect("sound")
}

/// Row numbers and counts at the ends of their type and of what they count, each alone with the others 0: whatever
/// does not fit is refused before anything runs.
fn rows_at_the_ends_of_their_type(fixture: &Fixture) {
    let (rows, x) = (wave(24, 61), tensor(&wave(15, 2), &[5, 3]));
    let y = map(&floats(&x), |v| 2.0 * v);
    for (dtype, ends) in
        [(DType::I32, [i32::MIN.into(), i32::MAX.into()]), (DType::U32, [0, u32::MAX.into()])]
    {
        let exe = load(fixture, &ends_graph(dtype, ends));
        let mut s = exe.session().expect("a session");
        for (name, bound) in [("src", 5), ("dst", 8), ("count", 5), ("len", 5)] {
            for value in [ends[0], ends[0] + 1, -1, 0, bound, bound + 1, 1 << 30, ends[1] - 1, ends[1]] {
                if value < ends[0] {
                    continue;
                }
                let what = format!("{dtype} {name} {value}");
                for state in ["s", "t"] {
                    s.state(state).expect("there").write_f32(&rows).expect("written");
                }
                s.set_scalar(name, value).unwrap_or_else(|e| panic!("{what}: {e}"));
                let ran = run(&mut s, &x);
                s.set_scalar(name, 0).expect("in range");
                if !(0..=bound).contains(&value) {
                    assert!(matches!(ran, Err(RuntimeError::RunCheck { replay: 0, .. })), "{what}: {ran:?}");
                }
                let fed = |state: &str| {
                    let count = match (ran.is_ok(), name, state) {
                        (true, "count", "s") | (true, "len", "t") => 3 * value as usize,
                        _ => 0,
                    };
                    [&y[..count], &rows[count..]].concat()
                };
                assert_eq!((state(&mut s, "s"), state(&mut s, "t")), (fed("s"), fed("t")), "{what}");
            }
        }
    }
}

/// An output that is the fed state reads as it was; a part of it too.
fn outputs_show_what_was_before(fixture: &Fixture) {
    let g = GraphBuilder::new("before");
    let x = g.input("x", f32([4u64, 2]));
    let s = g.state("s", f32([4u64, 2]));
    let old = g.state_read(s);
    g.output("old", old);
    g.output("row", g.narrow(old, 0, 2u64, 1u64));
    g.output("new", g.add(old, x));
    g.feed("new", s, FeedKind::Whole);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let mut sum = vec![0f32; 8];
    for seed in 0..4 {
        let x = wave(8, seed);
        let asked = s.run_read(&[("x", tensor(&x, &[4, 2]).view())], &[1, 0]).expect("runs");
        assert_eq!([floats(&asked[0]), floats(&asked[1])], [sum[4..6].to_vec(), sum.clone()], "run {seed}");
        assert_eq!(s.output_row("old", 3).expect("in part"), tensor(&sum[6..], &[2]));
        sum = zip(&sum, &x, |s, x| s + x);
        assert_eq!(state(&mut s, "s"), sum);
        assert_eq!(floats(&s.output("new").expect("there")), sum);
    }
}

/// In the order in which they were declared; the source may be the state itself.
fn several_feeds_into_one_state(fixture: &Fixture) {
    let g = GraphBuilder::new("several");
    let x = g.input("x", f32([6u64]));
    let s = g.state("s", f32([6u64]));
    g.output("x", x);
    g.output("old", g.state_read(s));
    let rows = |src: i64, dst: i64, count: i64| {
        let [src, dst, count] = [src, dst, count].map(DimExpr::constant);
        FeedKind::Row { axis: 0, src, dst, count }
    };
    g.feed("x", s, FeedKind::Prefix { axis: 0, len: DimExpr::constant(4) });
    // Overlapping rows of the state itself, moved by one: from the snapshot.
    g.feed("old", s, rows(0, 1, 3));
    g.feed("old", s, rows(5, 5, 1));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let mut now = wave(6, 9);
    s.state("s").expect("there").write_f32(&now).expect("written");
    for seed in 0..4 {
        let x = wave(6, seed);
        let old = now.clone();
        now[..4].copy_from_slice(&x[..4]);
        now[1..4].copy_from_slice(&old[..3]);
        let y = s.run(&[("x", row(&x))]).expect("runs");
        assert_eq!((out(&y, "old"), state(&mut s, "s")), (old, now.clone()), "run {seed}");
    }
}

/// A feed of no rows has no step, and its version of the state no writer. What followed it waited for nobody: the
/// program's own write and the next feed shared a level, and so did the next feed and whoever read the state before.
fn feeds_of_no_rows_keep_the_order(fixture: &Fixture) {
    let zero = || DimExpr::constant(0);
    let row = || FeedKind::Row { axis: 0, src: zero(), dst: zero(), count: zero() };
    let prefix = || FeedKind::Prefix { axis: 0, len: zero() };
    for (i, empty) in [vec![prefix()], vec![row()], vec![row(), prefix(), row()]].into_iter().enumerate() {
        for (writes, append) in [(false, false), (true, false), (true, true)] {
            let g = GraphBuilder::new("no_rows");
            let x = g.input("x", f32([6u64, 2]));
            let none = g.input("none", f32([0u64, 2]));
            let s = g.state("s", f32([6u64, 2]));
            let mut last = s;
            g.output("before", g.state_read(s));
            if writes {
                last = g.state_write(last, g.exp(g.add(g.state_read(s), x)));
            }
            if append {
                let at = g.constant_scalar(DType::I32, 1.0);
                last = g.kv_append(last, none, at, 0, pumice_ir::ops::kv_append::AppendMode::Linear);
                last = g.state_write(last, g.neg(g.state_read(last)));
            }
            g.output("after", g.state_read(last));
            g.output("x", x);
            g.output("none", none);
            for kind in empty.clone() {
                g.feed("x", s, kind);
            }
            g.feed("none", s, FeedKind::Prefix { axis: 0, len: zero() });
            let [src, dst, count] = [2, 0, 3].map(DimExpr::constant);
            g.feed("x", s, FeedKind::Row { axis: 0, src, dst, count });
            g.feed("x", s, empty[0].clone());
            let exe = load(fixture, &g.build().expect("sound"));
            let mut s = exe.session().expect("a session");
            let mut now = wave(12, 3);
            s.state("s").expect("there").write_f32(&now).expect("written");
            for seed in 0..8 {
                let x = wave(12, 10 + seed);
                let inputs = [("x", tensor(&x, &[6, 2])), ("none", tensor(&[], &[0, 2]))];
                let y = s.run(&inputs.each_ref().map(|(n, t)| (*n, t.view()))).expect("runs");
                let what = format!("feeds {i}, writes {writes}, appends {append}, run {seed}");
                assert_eq!(out(&y, "before"), now, "{what}");
                now = out(&y, "after");
                now[..6].copy_from_slice(&x[4..10]);
                assert_eq!(state(&mut s, "s"), now, "{what}");
            }
        }
    }
}

/// An f32 output into f16 and bf16 states: rounded once.
fn narrower_states_are_fed(fixture: &Fixture) {
    let g = GraphBuilder::new("narrow");
    let x = g.input("x", f32([4u64]));
    for (name, dtype) in [("half", DType::F16), ("brain", DType::BF16)] {
        let s = g.state(name, pumice_ir::tensor(dtype, [4u64]));
        let fed = format!("{name} fed");
        g.output(&fed, g.cast(x, dtype));
        g.feed(&fed, s, FeedKind::Whole);
        g.output(name, g.cast(g.state_read(s), DType::F32));
    }
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let x = [0.1f32, -3.3333, 1000.7, 1.0 + 1.0 / 512.0];
    s.run(&[("x", row(&x))]).expect("runs");
    let y = s.run(&[("x", row(&[0.0; 4]))]).expect("runs");
    assert_eq!(out(&y, "half"), map(&x, |v| half::f16::from_f32(v).to_f32()));
    assert_eq!(out(&y, "brain"), map(&x, |v| half::bf16::from_f32(v).to_f32()));
}
