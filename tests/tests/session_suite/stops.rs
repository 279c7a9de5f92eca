//! Replays that stop: after the one whose output says so, later ones of the submission write nothing, and the host
//! knows how many counted.

use crate::common::*;
use pumice_compile::Options;
use pumice_ir::ops::fft::Fft;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::shape::{DimSpec, bool_, i32, tensor as typed};
use pumice_ir::{Graph, GraphBuilder, Value, f32, sym};
use pumice_plan::check::check as check_plan;
use pumice_plan::{AdvanceKind, FrameSlot, Grid, Plan, StepKind};
use pumice_runtime::{RunOptions, ScalarValue, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, DimExpr, TensorView};

on_every_device!(
    later_replays_do_nothing,
    every_submission_begins_anew,
    truth_may_come_from_anywhere,
    host_steps_stop_too,
    what_would_be_reported_later_is_not,
    a_program_without_scalars_stops,
    grids_that_grow_are_cleared,
);

/// s ← s + x, `seen` ← t, which counts up by 2; stops where t reaches `limit`. All rows of `log` up to t + 2 hold t.
fn counting(with_host: bool) -> Graph {
    let g = GraphBuilder::new("counting");
    let rows: DimSpec = if with_host { sym("n", 2..=6) } else { 6.into() };
    let x = g.input("x", f32([rows, 1.into()]));
    let limit = g.scalar("limit", i32::<u64>([]), -1.0, 1e6, 0.0);
    let t = g.scalar_advancing("t", 0, 1000, 0, DimExpr::constant(2));
    let s = g.state("s", f32([6u64, 1]));
    let seen = g.state("seen", i32([1u64]));
    let next = g.add(g.state_read(s), x);
    g.state_write(s, next);
    g.state_write(seen, g.reshape(t, &[1]));
    let next = if with_host {
        g.fft(g.narrow(next, 0, 0, g.dim_of(x, 0)), Fft { axis: 0, ..Fft::default() })
    } else {
        next
    };
    g.output("next", next);
    g.output("enough", g.greater_or_equal(t, limit));
    g.stop("enough");
    g.build().expect("sound")
}

fn state(s: &mut Session, name: &str) -> pumice_types::Tensor {
    s.state(name).expect("there").read().expect("reads")
}

/// Runs `steps` replays with a limit, from t = 0 and s = 0, against plain Rust.
fn compare(session: &mut Session, x: &[f32], limit: i64, steps: u32, options: &RunOptions) {
    session.set_scalar("t", 0).expect("in range");
    session.set_scalar("limit", limit).expect("in range");
    session.state("s").expect("there").write_f32(&[0.0; 6]).expect("written");
    session.execute(&[("x", TensorView::f32(x, [6, 1]))], &options.clone().steps(steps)).expect("runs");
    let counted = (1..=steps).find(|n| 2 * i64::from(n - 1) >= limit).unwrap_or(steps);
    let stopped = 2 * i64::from(counted - 1) >= limit;
    assert_eq!((session.replays(), session.stopped()), (counted, stopped), "limit {limit}, {steps} steps");
    let sum: Vec<f32> = map(x, |x| x * counted as f32);
    assert_eq!(floats(&state(session, "s")), sum, "limit {limit}, {steps} steps");
    assert_eq!(ints(&state(session, "seen")), [2 * counted as i32 - 2], "limit {limit}, {steps} steps");
    assert_eq!(session.scalar("t").expect("there"), ScalarValue::Int(2 * i64::from(counted)));
    let y = session.outputs().expect("read");
    assert_eq!(y.get("enough").expect("there").bytes(), [u8::from(stopped)]);
    if y.get("next").expect("there").shape() == [6, 1] {
        assert_eq!(out(&y, "next"), sum, "outputs are those of the last replay that counted");
    }
}

fn later_replays_do_nothing(fixture: &Fixture) {
    let exe = load(fixture, &counting(false));
    let mut session = exe.session().expect("a session");
    let x = wave(6, 1);
    for limit in [0, 1, 2, 5, 12, 13, 14, 15, 99, -1] {
        compare(&mut session, &x, limit, 8, &RunOptions::default());
    }
    assert!(session.run_steps(&[("x", TensorView::f32(&x, [6, 1]))], 3).is_ok());
    let mut fork = session.fork().expect("a fork");
    compare(&mut fork, &x, 3, 40, &RunOptions::default());
    compare(&mut session, &x, 79, 40, &RunOptions::default());
}

/// Without setting anything in between: what stopped one submission does not stop the next but by being true again.
fn every_submission_begins_anew(fixture: &Fixture) {
    let exe = load(fixture, &counting(false));
    let mut session = exe.session().expect("a session");
    let x = [1.0; 6];
    let inputs = [("x", TensorView::f32(&x, [6, 1]))];
    session.set_scalar("limit", 3).expect("in range");
    let mut total = 0;
    for (steps, counted, stopped) in [(1, 1, false), (5, 2, true), (5, 1, true), (1, 1, true)] {
        session.run_steps(&inputs, steps).expect("runs");
        assert_eq!((session.replays(), session.stopped()), (counted, stopped), "after {total}");
        total += counted;
        assert_eq!(floats(&state(&mut session, "s")), [total as f32; 6]);
    }
    session.set_scalar("limit", 1000).expect("in range");
    session.run_steps(&inputs, 7).expect("runs");
    assert_eq!((session.replays(), session.stopped()), (7, false));
    assert_eq!(floats(&state(&mut session, "s")), [(total + 7) as f32; 6]);
}

/// `enough` made by `truth` of x\[4\] and the input `flags` bool\[3\]; n counts the replays.
fn with_truth(truth: impl Fn(&GraphBuilder, Value, Value) -> Value) -> Graph {
    let g = GraphBuilder::new("truth");
    let (x, flags) = (g.input("x", f32([4u64])), g.input("flags", bool_([3u64])));
    let n = g.state("n", f32([1u64]));
    g.state_write(n, g.add(g.state_read(n), g.constant_scalar(DType::F32, 1.0)));
    g.output("enough", truth(&g, x, flags));
    g.output("rest", g.relu(x));
    g.stop("enough");
    g.build().expect("sound")
}

/// An input, part of one, a reduction, a constant: it is found wherever it lies.
fn truth_may_come_from_anywhere(fixture: &Fixture) {
    type Truth = fn(&GraphBuilder, Value, Value) -> Value;
    let part: Truth = |g, _, flags| g.narrow(flags, 0, 1u64, 1u64);
    let turned: Truth = |g, _, flags| g.not(g.narrow(flags, 0, 2u64, 1u64));
    let sum: Truth = |g, x, _| g.greater(g.reduce_sum(x, &[0], true), g.constant_scalar(DType::F32, 3.0));
    let given: Truth = |g, _, _| g.input("given", bool_::<u64>([]));
    let always: Truth = |g, _, _| g.constant(pumice_types::Tensor::bools(&[true], &[]).expect("one"));
    let param: Truth = |g, _, _| g.greater(g.param("p", f32([1u64])), g.constant_scalar(DType::F32, 0.0));
    for (what, truth) in [
        ("part", part),
        ("turned", turned),
        ("sum", sum),
        ("given", given),
        ("always", always),
        ("param", param),
    ] {
        let exe = load(fixture, &with_truth(truth));
        if what == "param" {
            set(&exe, &[("p", &[1.0])]);
        }
        let mut session = exe.session().expect("a session");
        for is_true in [true, false, true] {
            let is_true = is_true || ["always", "param"].contains(&what);
            let x = if is_true { [1.0f32; 4] } else { [-1.0; 4] };
            // Only the one in the middle, and the last the other way round, say so.
            let flags = [u8::from(!is_true), u8::from(is_true), u8::from(!is_true)];
            let flags = TensorView::new(DType::Bool, &[3], &flags).expect("three");
            let given = [u8::from(is_true)];
            let given = TensorView::new(DType::Bool, &[], &given).expect("one");
            let mut inputs = vec![("x", row(&x)), ("flags", flags)];
            inputs.extend((what == "given").then_some(("given", given)));
            session.state("n").expect("there").write_f32(&[0.0]).expect("written");
            session.run_steps(&inputs, 3).unwrap_or_else(|e| panic!("{what}: {e}"));
            let counted = if is_true { 1 } else { 3 };
            assert_eq!((session.replays(), session.stopped()), (counted, is_true), "{what}");
            assert_eq!(floats(&state(&mut session, "n")), [counted as f32], "{what}");
        }
    }
}

fn host_steps_stop_too(fixture: &Fixture) {
    let exe = load(fixture, &counting(true));
    assert!(exe.plan().runs[0].program.steps.iter().any(|s| s.is_host()));
    let mut session = exe.session().expect("a session");
    for limit in [0, 5, 99] {
        compare(&mut session, &wave(6, 2), limit, 6, &RunOptions::default());
    }
}

/// Rows are appended at t; the fifth is past the capacity.
fn what_would_be_reported_later_is_not(fixture: &Fixture) {
    let g = GraphBuilder::new("appending");
    let x = g.input("x", f32([1u64, 3]));
    let t = g.scalar_advancing("t", 0, 1000, 0, DimExpr::constant(1));
    let limit = g.scalar("limit", i32::<u64>([]), 0.0, 1e6, 0.0);
    let cache = g.cache("cache", typed(DType::F32, [4u64, 3]), 0);
    g.kv_append(cache, x, t, 0, AppendMode::Linear);
    g.output("enough", g.greater_or_equal(t, limit));
    g.stop("enough");
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let x = [0.5, 1.0, 2.0];
    let inputs = [("x", TensorView::f32(&x, [1, 3]))];
    session.set_scalar("limit", 3).expect("in range");
    session.run_steps(&inputs, 9).expect("the replay that would overflow does nothing");
    assert_eq!(session.replays(), 4);
    assert!(session.status().is_clean());
    assert_eq!(floats(&state(&mut session, "cache")), x.repeat(4));
    session.set_scalar("t", 0).expect("in range");
    session.set_scalar("limit", 5).expect("in range");
    let met = session.run_steps(&inputs, 9).expect_err("two replays overflow");
    assert!(met.to_string().contains("in replay 4"), "{met}");
    assert_eq!(session.replays(), 6);
}

/// s ← s/2 + x until it is larger than 1.9; no scalar advances.
fn a_program_without_scalars_stops(fixture: &Fixture) {
    let g = GraphBuilder::new("series");
    let x = g.input("x", f32([1u64]));
    let s = g.state("s", f32([1u64]));
    let next = g.add(g.mul(g.state_read(s), g.constant_scalar(DType::F32, 0.5)), x);
    g.state_write(s, next);
    g.output("enough", g.greater(next, g.constant_scalar(DType::F32, 1.9)));
    g.stop("enough");
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    for _ in 0..3 {
        session.state("s").expect("there").write_f32(&[0.0]).expect("written");
        session.run_steps(&[("x", row(&[1.0]))], 50).expect("runs");
        assert_eq!(session.replays(), 5, "1, 1.5, 1.75, 1.875, 1.9375");
        assert_eq!(floats(&state(&mut session, "s")), [1.9375]);
    }
}

/// Several ranges of a symbol, grids that the scalar and the symbol make: a sum over all rows that were appended.
fn growing() -> Graph {
    let g = GraphBuilder::new("growing");
    let x = g.input("x", f32([sym("n", 1..=70), 4.into()]));
    let n = g.dim_of(x, 0);
    let t = g.scalar_advancing("t", 0, 400, 0, n.clone());
    let limit = g.scalar("limit", i32::<u64>([]), 0.0, 1e6, 0.0);
    let cache = g.cache("cache", typed(DType::F32, [512u64, 4]), 0);
    let rows = g.kv_append(cache, x, t, 0, AppendMode::Linear);
    g.output("sum", g.reduce_sum(g.state_read(rows), &[0], false));
    g.output("twice", g.add(x, x));
    g.output("enough", g.greater_or_equal(g.add(t, g.extent(x, 0)), limit));
    g.stop("enough");
    g.build().expect("sound")
}

fn grids_that_grow_are_cleared(fixture: &Fixture) {
    let options = Options::default().specializations(vec![("n".to_owned(), vec![1, 70])]);
    let plan = fixture.plan(&growing(), &options);
    assert_eq!(plan.runs.len(), 2, "{}", plan);
    let exe = fixture.load(plan);
    let mut session = exe.session().expect("a session");
    for (n, limit, counted) in [(1, 3, 3), (70, 140, 2), (33, 100, 4), (1, 1000, 5)] {
        let x = [1.0f32].repeat(4 * n);
        session.set_scalar("t", 0).expect("in range");
        session.set_scalar("limit", limit).expect("in range");
        session.state("cache").expect("there").write_f32(&[0.0; 2048]).expect("written");
        let y = session.run_steps(&[("x", tensor(&x, &[n as u64, 4]).view())], 5).expect("runs");
        assert_eq!(session.replays(), counted, "{n} rows a replay");
        assert_eq!(out(&y, "sum"), [(n as u32 * counted) as f32; 4]);
        assert_eq!(out(&y, "twice"), vec![2.0; 4 * n]);
    }
}

/// The checker refuses a plan whose later replays would do something.
#[test]
fn a_plan_that_goes_on_after_its_stop_is_refused() {
    let fixture = Fixture::interpreter();
    let plan = fixture.plan(&counting(false), &Options::default());
    check_plan(&plan).expect("sound");
    let frame = |change: fn(&mut pumice_plan::Frame)| {
        let mut plan = plan.clone();
        change(&mut plan.runs[0].frame);
        plan
    };
    fn op(frame: &mut pumice_plan::Frame, kind: AdvanceKind) -> &mut pumice_plan::AdvanceOp {
        frame.advance.iter_mut().find(|op| op.op == kind).expect("there is one")
    }
    let refused = |plan: &Plan, what: &str| {
        let faults = check_plan(plan).err().unwrap_or_else(|| panic!("{what} is accepted"));
        let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
        println!("{what}: {}", said.join("; "));
    };
    refused(&frame(|f| op(f, AdvanceKind::CopyUnless).op = AdvanceKind::Copy), "a scalar that goes on");
    refused(&frame(|f| op(f, AdvanceKind::Count).b = 2), "a count up to 2");
    refused(&frame(|f| op(f, AdvanceKind::Count).a = 1), "a second word");
    refused(&frame(|f| op(f, AdvanceKind::ClearIf).b -= 3), "a grid that is left out");
    refused(&frame(|f| op(f, AdvanceKind::ClearIf).op = AdvanceKind::Copy), "no grid cleared");
    refused(&frame(|f| op(f, AdvanceKind::Max).op = AdvanceKind::Copy), "a stop that goes away");
    refused(&frame(|f| op(f, AdvanceKind::Max).op = AdvanceKind::Min), "a stop that never comes");
    refused(
        &frame(|f| {
            f.words.iter_mut().filter(|w| **w == FrameSlot::Replays).for_each(|w| *w = FrameSlot::Temporary)
        }),
        "replays that nobody counts",
    );
    let mut fixed = plan.clone();
    for step in &mut fixed.runs[0].program.steps {
        if let StepKind::Dispatch { grid, .. } = &mut step.kind
            && let &mut Grid::Frame { upper, .. } = grid
        {
            *grid = Grid::Static(upper);
            step.uses.retain(|u| u.access != pumice_plan::Access::IndirectRead);
        }
    }
    refused(&fixed, "grids that are fixed");
    let mut blind = plan.clone();
    let advance = blind.runs[0].program.steps.last_mut().expect("the advance");
    advance.uses.truncate(1);
    refused(&blind, "an advance that reads no count");
}
