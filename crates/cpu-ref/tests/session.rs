//! States, feeds and scalars of the reference session (OPS 2).

use pumice_cpu_ref::{Array, EvalError, EvalOptions, RefSession, Status};
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{FeedKind, Graph, GraphBuilder, f32, i32, sym};
use pumice_types::{Bindings, DType, DimExpr, SymbolId};
use std::sync::Arc;

fn floats(values: &[f64], shape: &[u64]) -> Arc<Array> {
    Arc::new(Array::floats(DType::F32, shape, values.to_vec()))
}

fn session(graph: &Graph) -> RefSession<'_> {
    RefSession::new(graph, &|_| None, EvalOptions::default()).expect("there are no params")
}

#[test]
fn two_states_swap_by_feeds() {
    let g = GraphBuilder::new("swap");
    let (a, b) = (g.state("a", f32([1])), g.state("b", f32([1])));
    let x = g.input("x", f32([1]));
    let (ra, rb) = (g.state_read(a), g.state_read(b));
    g.output("old_a", ra);
    g.output("old_b_plus_x", g.add(rb, x));
    g.feed("old_a", b, FeedKind::Whole);
    g.feed("old_b_plus_x", a, FeedKind::Whole);
    let graph = g.build().expect("right");
    let mut s = session(&graph);
    let mut seen = Vec::new();
    for x in [1.0, 10.0, 100.0] {
        s.run(&|_| Some(floats(&[x], &[1])), &Bindings::new()).expect("runs");
        seen.push((s.states()[0].as_floats()[0], s.states()[1].as_floats()[0]));
    }
    assert_eq!(seen, [(1.0, 0.0), (10.0, 1.0), (101.0, 10.0)]);
}

#[test]
fn prefix_and_row_feeds_write_their_rows() {
    let g = GraphBuilder::new("rows");
    let (p, r) = (g.state("p", f32([4, 2])), g.state("r", f32([4, 2])));
    let x = g.input("x", f32([4, 2]));
    let at = g.scalar_advancing("at", 0, 3, 0, DimExpr::constant(1));
    g.output("y", x);
    let at = g.scalar_expr(at);
    g.feed("y", p, FeedKind::Prefix { axis: 0, len: DimExpr::constant(2) });
    g.feed(
        "y",
        r,
        FeedKind::Row { axis: 0, src: DimExpr::constant(3), dst: at, count: DimExpr::constant(1) },
    );
    let graph = g.build().expect("right");
    let mut s = session(&graph);
    let x = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[4, 2]);
    for _ in 0..3 {
        s.run(&|_| Some(x.clone()), &Bindings::new()).expect("runs");
    }
    assert_eq!(s.states()[0].as_floats(), [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(s.states()[1].as_floats(), [7.0, 8.0, 7.0, 8.0, 7.0, 8.0, 0.0, 0.0]);
    s.run(&|_| Some(x.clone()), &Bindings::new()).expect("the last row");
    let error = s.run(&|_| Some(x.clone()), &Bindings::new()).expect_err("row 4 of 4");
    assert!(matches!(error, EvalError::Feed { from: 4, to: 5, size: 4, .. }), "{error}");
    assert_eq!(s.scalars(), [4.0], "a failed run changes nothing");
}

#[test]
fn rows_after_the_capacity_are_reported() {
    let g = GraphBuilder::new("cache");
    let cache = g.cache("cache", f32([1, 2, 1]), 1);
    let x = g.input("x", f32([1, 1, 1]));
    let pos = g.scalar_advancing("pos", 0, 10, 0, DimExpr::constant(1));
    let next = g.kv_append(cache, x, pos, 1, AppendMode::Linear);
    g.output("y", g.state_read(next));
    let graph = g.build().expect("right");
    let mut s = session(&graph);
    let mut run = |v: f64| s.run(&|_| Some(floats(&[v], &[1, 1, 1])), &Bindings::new()).expect("runs");
    assert!(run(1.0).status.is_empty() && run(2.0).status.is_empty());
    let third = run(3.0);
    assert_eq!(third.outputs[0].as_floats(), [1.0, 2.0]);
    assert_eq!(third.status[0].status, Status::StateOverflow(0));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let g = GraphBuilder::new("wrong");
    let x = g.input("x", f32([sym("n", 2..=8), 2.into()]));
    let y = g.input("y", f32([sym("m", 2..=8), 2.into()]));
    let i = g.input("i", i32::<u64>([]));
    g.output("sum", g.add(x, y));
    g.output("i", i);
    let graph = g.build().expect("right");
    let mut bindings = Bindings::new();
    bindings.bind(SymbolId(0), 3);
    let mut s = session(&graph);
    let unbound = s.run(&|_| None, &bindings).expect_err("m is not bound");
    assert!(matches!(unbound, EvalError::Extent { .. }), "{unbound}");
    bindings.bind(SymbolId(1), 4);
    assert!(matches!(s.run(&|_| None, &bindings), Err(EvalError::Constraint { .. })));
    bindings.bind(SymbolId(1), 3);
    assert_eq!(s.run(&|_| None, &bindings).err(), Some(EvalError::MissingLeaf("x".into())));
    let wrong = s.run(&|_| Some(floats(&[0.0; 4], &[2, 2])), &bindings);
    assert!(matches!(wrong, Err(EvalError::LeafType { .. })), "{:?}", wrong.err());
}

/// A shape may claim more than any machine has; it was allocated and the process ended.
#[test]
fn a_value_that_the_machine_cannot_hold_is_refused() {
    let g = GraphBuilder::new("huge");
    let x = g.input("x", f32([1]));
    g.output("y", g.named("wide").expand(x, &[1 << 40]));
    let graph = g.build().expect("right");
    let error =
        session(&graph).run(&|_| Some(floats(&[1.0], &[1])), &Bindings::new()).expect_err("too large");
    assert!(matches!(&error, EvalError::Memory { name, .. } if name == "wide"), "{error:?}");
}

/// A given state begins as what is handed in by its name, survives runs, and is an error by name where it is missing.
#[test]
fn a_given_state_is_handed_in_like_a_param() {
    let g = GraphBuilder::new("given");
    let w = g.state_given("w", f32([2]));
    let now = g.state_read(w);
    g.output("before", now);
    g.state_write(w, g.add(now, g.input("x", f32([2]))));
    let graph = g.build().expect("right");
    assert_eq!(
        RefSession::new(&graph, &|_| None, EvalOptions::default()).err(),
        Some(EvalError::MissingLeaf("w".to_owned()))
    );
    let first = floats(&[1.0, 2.0], &[2]);
    let given = |name: &str| (name == "w").then(|| first.clone());
    let mut s = RefSession::new(&graph, &given, EvalOptions::default()).expect("it is given");
    for _ in 0..2 {
        s.run(&|_| Some(floats(&[10.0, 20.0], &[2])), &Bindings::new()).expect("runs");
    }
    assert_eq!(s.states()[0].as_floats(), [21.0, 42.0]);
    let other = floats(&[1.0], &[1]);
    let mut s = RefSession::new(&graph, &|_| Some(other.clone()), EvalOptions::default()).expect("any value");
    let error = s.run(&|_| Some(floats(&[10.0, 20.0], &[2])), &Bindings::new()).expect_err("another extent");
    assert_eq!(error.to_string(), "`w` is f32[1], not f32[2]");
}
