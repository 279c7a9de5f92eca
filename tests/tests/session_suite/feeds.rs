//! Feeds: whole, prefix and rows, taken before any state is written, while callers read what was before.

use crate::{floats, numbers};
use pumice_compile::Options;
use pumice_ir::{FeedKind, GraphBuilder, f32, i32, sym};
use pumice_runtime::RuntimeError;
use pumice_tests::{Lab, on_every_device};
use pumice_types::{DType, DimExpr, TensorView};

on_every_device!(two_states_swap, prefixes_of_the_actual_extent, rows_by_scalars);

/// Two states feed each other, and one more counts.
fn two_states_swap(lab: &Lab) {
    let g = GraphBuilder::new("swap");
    let (a, b) = (g.state("a", f32([3u64])), g.state("b", f32([3u64])));
    let n = g.state("n", f32([3u64]));
    g.output("a", g.state_read(a));
    g.output("b", g.state_read(b));
    g.output("n", g.add(g.state_read(n), g.constant_scalar(DType::F32, 1.0)));
    g.feed("a", b, FeedKind::Whole);
    g.feed("b", a, FeedKind::Whole);
    g.feed("n", n, FeedKind::Whole);
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut s = exe.session().expect("a session");
    let start = [[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    s.state("a").expect("there").write_f32(&start[0]).expect("bound");
    s.state("b").expect("there").write_f32(&start[1]).expect("bound");
    for k in 0..4 {
        let out = s.run(&[]).expect("runs");
        assert_eq!(floats(out.get("a").expect("there")), start[k % 2], "before the feed of run {k}");
        assert_eq!(floats(out.get("b").expect("there")), start[1 - k % 2]);
        assert_eq!(floats(out.get("n").expect("there")), [k as f32 + 1.0; 3]);
        assert_eq!(floats(&s.state("a").expect("there").read().expect("after it")), start[1 - k % 2]);
    }
    // Behind each other in one submission the swaps come one after the other.
    let out = s.run_steps(&[], 3).expect("runs");
    assert_eq!(floats(out.get("a").expect("there")), start[0]);
    assert_eq!(floats(out.get("n").expect("there")), [7.0; 3]);
}

/// The state takes as many rows as the input has; the others stay.
fn prefixes_of_the_actual_extent(lab: &Lab) {
    let g = GraphBuilder::new("prefix");
    let x = g.input("x", f32([sym("n", 0..=5), 2.into()]));
    let s = g.state("s", f32([5u64, 2]));
    let mirror = g.state("whole_rows", f32([2u64, 5]));
    let n = g.dim_of(x, 0);
    g.output("y", g.mul(x, g.constant_scalar(DType::F32, 2.0)));
    g.output("t", g.transpose(x, &[1, 0]));
    g.output("sum", g.reduce_sum(g.state_read(s), &[0, 1], false));
    g.feed("y", s, FeedKind::Prefix { axis: 0, len: n.clone() });
    g.feed("t", mirror, FeedKind::Prefix { axis: 1, len: n });
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut session = exe.session().expect("a session");
    let mut want = vec![0f32; 10];
    for n in [3u64, 5, 0, 1, 4] {
        let x = numbers(2 * n as usize, n);
        let before: f32 = want.iter().sum();
        let out = session.run(&[("x", TensorView::f32(&x, [n, 2]))]).expect("runs");
        assert_eq!(floats(out.get("sum").expect("there")), [before], "the feed comes last");
        x.iter().enumerate().for_each(|(i, v)| want[i] = 2.0 * v);
        assert_eq!(floats(&session.state("s").expect("there").read().expect("after")), want, "{n} rows");
        let mirrored = floats(&session.state("whole_rows").expect("there").read().expect("after"));
        let expected: Vec<f32> = (0..10).map(|i| want[i % 5 * 2 + i / 5] / 2.0).collect();
        assert_eq!(mirrored, expected, "{n} columns");
    }
}

/// Rows [src, src + count) of an output become rows [dst, dst + count) of a state; out of range is refused.
fn rows_by_scalars(lab: &Lab) {
    let g = GraphBuilder::new("rows");
    let x = g.input("x", f32([4u64, 3]));
    let s = g.state("s", f32([6u64, 3]));
    let scalar = |name: &str, max: f64| g.scalar(name, i32::<u64>([]), 0.0, max, 0.0);
    let (src, dst, count) = (scalar("src", 4.0), scalar("dst", 6.0), scalar("count", 4.0));
    let [src, dst, count]: [DimExpr; 3] = [src, dst, count].map(|v| g.scalar_expr(v));
    g.output("y", g.neg(x));
    g.feed("y", s, FeedKind::Row { axis: 0, src, dst, count });
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut session = exe.session().expect("a session");
    let mut want = [0f32; 18];
    for (i, (src, dst, count)) in
        [(0usize, 0usize, 1usize), (1, 3, 3), (2, 2, 2), (0, 0, 0), (3, 5, 1)].into_iter().enumerate()
    {
        let x = numbers(12, i as u64);
        for (name, v) in [("src", src), ("dst", dst), ("count", count)] {
            session.set_scalar(name, v as i64).expect("in range");
        }
        session.run(&[("x", TensorView::f32(&x, [4, 3]))]).expect("runs");
        for r in 0..count {
            (0..3).for_each(|c| want[(dst + r) * 3 + c] = -x[(src + r) * 3 + c]);
        }
        let got = floats(&session.state("s").expect("there").read().expect("after"));
        assert_eq!(
            got.iter().map(|v| v + 0.0).collect::<Vec<_>>(),
            want.iter().map(|v| v + 0.0).collect::<Vec<_>>()
        );
    }
    let before = session.state("s").expect("there").read().expect("whole");
    for (src, dst, count) in [(2i64, 0i64, 3i64), (0, 5, 2)] {
        for (name, v) in [("src", src), ("dst", dst), ("count", count)] {
            session.set_scalar(name, v).expect("in range alone");
        }
        let x = [0f32; 12];
        let refused = session.run(&[("x", TensorView::f32(&x, [4, 3]))]);
        assert!(matches!(refused, Err(RuntimeError::RunCheck { .. })), "{refused:?}");
    }
    assert_eq!(session.state("s").expect("there").read().expect("whole"), before, "nothing was written");
    assert!(matches!(session.set_scalar("src", 5), Err(RuntimeError::ScalarRange { .. })));
}
