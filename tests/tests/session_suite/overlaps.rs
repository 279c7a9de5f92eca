//! Bytes that meet: a state appended to itself, writes of parts beside writes of the whole, appends of nothing, feeds
//! that end inside a word or have other extents than the state, and more replays than one submission holds.

use crate::common::*;
use pumice_compile::{CompileError, Options};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{FeedKind, Graph, GraphBuilder, Value, f16, f32, sym};
use pumice_runtime::RuntimeError;
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, DimExpr, Target};

on_every_device!(
    a_state_is_appended_to_itself,
    a_part_waits_for_the_whole,
    an_append_of_nothing_leaves_the_order,
    feeds_of_other_extents_are_refused,
    a_narrow_prefix_leaves_what_is_after_it,
    more_replays_than_a_submission_holds,
);

fn at(g: &GraphBuilder, row: i32) -> Value {
    g.constant(pumice_types::Tensor::new(&[row], &[]).expect("one element"))
}

/// Rows move down by one: the kernel must not read what it has written.
pub fn a_state_is_appended_to_itself(fixture: &Fixture) {
    const ROWS: usize = 3000;
    const WIDTH: usize = 16;
    let g = GraphBuilder::new("shift");
    let s = g.state("s", f32([ROWS as u64, WIDTH as u64]));
    let x = g.slice(g.state_read(s), &[0], &[ROWS as i64 - 1], &[0], &[1]);
    let next = g.kv_append(s, x, at(&g, 1), 0, AppendMode::Linear);
    g.output("y", g.state_read(next));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let mut want = wave(ROWS * WIDTH, 3);
    session.state("s").expect("there").write_f32(&want).expect("written");
    for _ in 0..3 {
        let y = session.run(&[]).expect("runs");
        want.copy_within(..(ROWS - 1) * WIDTH, WIDTH);
        assert_eq!(out(&y, "y"), want);
    }
}

/// Of three copies into one result one is unaligned, so that its bytes count as all.
pub fn a_part_waits_for_the_whole(fixture: &Fixture) {
    let g = GraphBuilder::new("parts");
    let (a, b, c) = (g.input("a", f32([3u64])), g.input("b", f32([5u64])), g.input("c", f32([4u64])));
    g.output("y", g.relu(g.concat(&[a, b, g.softmax(c, -1)], 0)));
    let exe = load(fixture, &g.build().expect("sound"));
    let (a, b) = (wave(3, 1), wave(5, 2));
    let y = exe.session().expect("a session").run(&[("a", row(&a)), ("b", row(&b)), ("c", row(&[1.0; 4]))]);
    let want = [map(&a, |v| v.max(0.0)), map(&b, |v| v.max(0.0)), vec![0.25; 4]].concat();
    assert_eq!(out(&y.expect("runs"), "y"), want);
}

pub fn an_append_of_nothing_leaves_the_order(fixture: &Fixture) {
    let g = GraphBuilder::new("nothing");
    let s = g.state("s", f32([4u64, 2]));
    let x = g.input("x", f32([1u64, 2]));
    let one = g.kv_append(s, x, at(&g, 1), 0, AppendMode::Linear);
    let nothing = g.slice(x, &[0], &[0], &[0], &[1]);
    let two = g.kv_append(one, nothing, at(&g, 0), 0, AppendMode::Linear);
    g.output("before", g.state_read(s));
    g.output("after", g.state_read(two));
    let three = g.kv_append(two, x, at(&g, 3), 0, AppendMode::Linear);
    g.output("last", g.state_read(three));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let y = session.run(&[("x", tensor(&[5.0, 6.0], &[1, 2]).view())]).expect("runs");
    assert_eq!(out(&y, "before"), [0.0; 8]);
    assert_eq!(out(&y, "after"), [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(out(&y, "last"), [0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 5.0, 6.0]);
}

/// A whole feed of fewer rows would leave the rest to chance.
pub fn feeds_of_other_extents_are_refused(fixture: &Fixture) {
    let g = GraphBuilder::new("extents");
    let x = g.input("x", f32([sym("n", 1..=16)]));
    let s = g.state("s", f32([8u64]));
    g.output("y", g.relu(x));
    g.feed("y", s, FeedKind::Whole);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    for n in [3, 16] {
        let run = session.run(&[("x", row(&vec![1.0; n]))]);
        refused!(
            run,
            RuntimeError::Extents { .. },
            "feed of state s",
            &format!("n = {n} must be equal to 8")
        );
    }
    session.run(&[("x", row(&[2.0; 8]))]).expect("as long as the state");
    assert_eq!(floats(&session.state("s").expect("there").read().expect("reads")), [2.0; 8]);
}

fn narrow(len: u64) -> Graph {
    let g = GraphBuilder::new("narrow");
    let s = g.state("s", f16([8u64]));
    g.output("y", g.cast(g.input("x", f32([len])), DType::F16));
    g.feed("y", s, FeedKind::Prefix { axis: 0, len: DimExpr::from(len) });
    g.build().expect("sound")
}

/// Kernels store whole words: three halves would take a fourth with them.
pub fn a_narrow_prefix_leaves_what_is_after_it(fixture: &Fixture) {
    let refused = pumice_compile::compile(&narrow(3), &Target::lavapipe(), &Options::default(), &RefEval);
    refused!(refused.map(drop), CompileError::Options(_), "state s", "kv_append");
    let exe = load(fixture, &narrow(4));
    let mut session = exe.session().expect("a session");
    session.state("s").expect("there").write_f32(&[7.0; 8]).expect("written");
    session.run(&[("x", row(&[1.0; 4]))]).expect("runs");
    let now = session.state("s").expect("there").read().expect("reads");
    let now: Vec<f32> = now.to_vec::<half::f16>().expect("f16").into_iter().map(f32::from).collect();
    assert_eq!(now, [1.0, 1.0, 1.0, 1.0, 7.0, 7.0, 7.0, 7.0]);
}

/// A submission holds 4,096 lists; nothing of a replay is lost between two.
pub fn more_replays_than_a_submission_holds(fixture: &Fixture) {
    let steps = if fixture.is_vulkan() { 10_000 } else { 100 };
    let g = GraphBuilder::new("count");
    let s = g.state("s", f32([4u64]));
    g.output("y", g.add(g.state_read(s), g.constant_scalar(DType::F32, 1.0)));
    g.feed("y", s, FeedKind::Whole);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let y = session.run_steps(&[], steps).expect("runs");
    assert_eq!(out(&y, "y"), [steps as f32; 4]);
}
