//! What ops report: a run that met an index out of range or a full state says so, names the op, and did end.

use crate::common::*;
use pumice_compile::Options;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{Graph, GraphBuilder, f32, i32, sym};
use pumice_plan::kernel::status;
use pumice_runtime::{OnStatus, OpReport, RunOptions, RunStatus, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DimExpr, TensorView};

on_every_device!(
    the_op_and_the_place_are_named,
    specializations_share_the_names,
    states_that_are_full,
    of_several_replays,
);

/// Rows of a table by ids, and the quotient of two integers.
fn lookup() -> Graph {
    let g = GraphBuilder::new("lookup");
    let ids = g.input("ids", i32([sym("n", 1..=6)]));
    let by = g.input("by", i32([g.dim_of(ids, 0)]));
    let table = g.constant(tensor(&wave(12, 1), &[4, 3]));
    g.output("rows", g.named("lookup").embedding(table, ids));
    g.output("quotient", g.named("quotient").div(ids, by));
    g.build().expect("sound")
}

fn rows(ids: &[i32]) -> Vec<f32> {
    let table = wave(12, 1);
    let one = |id: &i32| match id {
        // Negative indices count from the end.
        -4..4 => table[id.rem_euclid(4) as usize * 3..][..3].to_vec(),
        _ => vec![0.0; 3],
    };
    ids.iter().flat_map(one).collect()
}

fn the_op_and_the_place_are_named(fixture: &Fixture) {
    let exe = load(fixture, &lookup());
    let mut s = exe.session().expect("a session");
    let go = |s: &mut Session, ids: &[i32], by: &[i32], on_status| {
        let n = ids.len() as u64;
        let options = RunOptions::default().on_status(on_status);
        s.run_with(&[("ids", TensorView::i32(ids, [n])), ("by", TensorView::i32(by, [n]))], &options)
    };
    let good = go(&mut s, &[3, 0, -4, -1], &[1, 2, 3, -1], OnStatus::Error).expect("nothing to report");
    assert_eq!(out(&good, "rows"), rows(&[3, 0, -4, -1]));
    assert_eq!(ints(good.get("quotient").expect("there")), [3, 0, -1, 1]);
    assert!(s.status().is_clean());
    let (ids, by) = ([1, 2, 4, -5, 99], [1, 1, 1, 1, 1]);
    match go(&mut s, &ids, &by, OnStatus::Error) {
        Err(RuntimeError::Status(met)) => {
            assert_eq!(met.flags, status::INDEX_OUT_OF_RANGE);
            assert!(
                met.first.len() == 1 && met.first[0].op.contains("lookup") && met.first[0].position == 2,
                "{met:?}"
            );
            assert_eq!(s.status(), &met);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(out(&s.outputs().expect("it did end"), "rows"), rows(&ids));
    let reported = go(&mut s, &ids, &[1, 0, 1, 1, 1], OnStatus::Report).expect("reported, not refused");
    assert_eq!(out(&reported, "rows"), rows(&ids));
    assert_eq!(s.status().flags, status::INDEX_OUT_OF_RANGE | status::INT_DIV_ZERO);
    let place = |name: &str| s.status().first.iter().find(|r| r.op.contains(name)).map(|r| r.position);
    assert_eq!((place("lookup"), place("quotient")), (Some(2), Some(1)));
    let ignored = go(&mut s, &ids, &by, OnStatus::Ignore).expect("not read");
    assert_eq!(out(&ignored, "rows"), rows(&ids));
    assert!(s.status().is_clean());
    go(&mut s, &[0], &[1], OnStatus::Error).expect("the report is reset by the run");
}

/// Each range of a symbol has steps of its own; they report by the same names, and a report ends with its run.
fn specializations_share_the_names(fixture: &Fixture) {
    let g = GraphBuilder::new("none_or_some");
    let table = g.constant(tensor(&wave(12, 1), &[4, 3]));
    let ids = g.input("ids", i32([sym("n", 0..=6)]));
    g.output("rows", g.named("lookup").embedding(table, ids));
    let (a, b) = (g.input("a", i32([2u64])), g.input("b", i32([2u64])));
    g.output("quotient", g.named("quotient").div(a, b));
    let options = Options::default().specializations(vec![("n".to_owned(), vec![0, 3])]);
    let exe = fixture.executable(&g.build().expect("sound"), &options);
    let mut s = exe.session().expect("a session");
    let go = |s: &mut Session, ids: &[i32], by: &[i32]| {
        let ids = TensorView::i32(ids, [ids.len() as u64]);
        let quotient = [("a", TensorView::i32(&[8, 9], [2])), ("b", TensorView::i32(by, [2]))];
        s.run(&[("ids", ids), quotient[0], quotient[1]]).map(drop)
    };
    let only = |met: &RunStatus, op: &str, position| {
        met.first == [OpReport { op: op.to_owned(), position, replay: 0 }]
    };
    let lookup = |met: &RunStatus| only(met, "lookup", 1);
    let quotient = |met: &RunStatus| only(met, "quotient", 0);
    for _ in 0..2 {
        refused!(go(&mut s, &[1, 7], &[1, 1]), RuntimeError::Status(met) if lookup(met), "lookup");
        go(&mut s, &[], &[1, 1]).expect("the report of another range is not this one's");
        refused!(go(&mut s, &[0, 1, 2, 3], &[0, 1]), RuntimeError::Status(met) if quotient(met), "quotient");
        refused!(go(&mut s, &[], &[0, 1]), RuntimeError::Status(met) if quotient(met), "quotient");
        go(&mut s, &[3, 2], &[2, 1]).expect("nothing to report");
    }
}

fn cache() -> Graph {
    let g = GraphBuilder::new("cache");
    let x = g.input("x", f32([sym("t", 1..=3), 2.into()]));
    let at = g.scalar_advancing("at", 0, 100, 0, g.dim_of(x, 0));
    let s = g.cache("s", f32([5u64, 2]), 0);
    g.output("y", g.state_read(g.named("append").kv_append(s, x, at, 0, AppendMode::Linear)));
    g.build().expect("sound")
}

fn states_that_are_full(fixture: &Fixture) {
    let exe = load(fixture, &cache());
    let mut s = exe.session().expect("a session");
    let mut want = vec![0f32; 10];
    for (turn, (at, t)) in [(0usize, 3usize), (3, 2), (5, 1), (3, 3), (2, 1)].into_iter().enumerate() {
        s.set_scalar("at", at as i64).expect("in range");
        let x = wave(2 * t, turn as u32);
        let fits = t.min(5 - at);
        want[2 * at..2 * (at + fits)].copy_from_slice(&x[..2 * fits]);
        let y = s.run(&[("x", tensor(&x, &[t as u64, 2]).view())]);
        if fits == t {
            assert_eq!(out(&y.expect("it fits"), "y"), want);
        } else {
            refused!(y, RuntimeError::Status(met) if met.flags == status::STATE_OVERFLOW, "append");
            assert_eq!(floats(&s.output("y").expect("it did end")), want, "rows past the end were dropped");
        }
        assert_eq!(floats(&s.state("s").expect("there").read().expect("reads")), want, "turn {turn}");
        assert_eq!(s.scalar("at").expect("there").as_i64(), Some((at + t) as i64));
    }
}

/// A report of any replay counts: the first one of each op is reported, with its replay. Each replay used to reset what
/// those before it had reported.
fn of_several_replays(fixture: &Fixture) {
    let g = GraphBuilder::new("steps");
    let at = g.scalar_advancing("at", -10, 100, 0, DimExpr::constant(1));
    let table = g.constant(tensor(&wave(4, 1), &[4]));
    g.output("y", g.named("lookup").gather(table, at, 0));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let y = s.run_steps(&[], 4).expect("0, 1, 2 and 3 are there");
    assert_eq!(out(&y, "y"), wave(4, 1)[3..]);
    refused!(s.run_steps(&[], 2), RuntimeError::Status(_), "lookup");
    assert_eq!(floats(&s.output("y").expect("it did end")), [0.0]);
    // Of the four elements −4 to 3 are there.
    let cases = [
        (-6, 3, Some(0)),
        (-6, 12, Some(0)),
        (-4, 8, None),
        (-4, 12, Some(8)),
        (2, 4, Some(2)),
        (5, 1, Some(0)),
    ];
    for (at, steps, first) in cases {
        s.set_scalar("at", at).expect("in range");
        let ended = s.run_steps(&[], steps);
        let replay = s.status().first.first().map(|r| (r.op.as_str(), r.position, r.replay));
        assert_eq!(replay, first.map(|r| ("lookup", 0, r)), "{steps} replays from {at} on");
        assert_eq!((ended.is_err(), s.status().flags), (first.is_some(), u32::from(first.is_some())));
    }
    s.set_scalar("at", 2).expect("in range");
    let y = s.run(&[]).expect("goes on");
    assert_eq!(out(&y, "y"), wave(4, 1)[2..3]);
}
