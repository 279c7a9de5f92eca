//! Functions of users that fail: a typed error that names op and step, nothing hangs, nothing is poisoned.

use crate::ops::{load, ops};
use pumice_cpu_ref::{EvalError, EvalOptions, eval_graph_with};
use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_runtime::{CustomError, DeviceError, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{Bindings, TensorView};
use std::cell::RefCell;
use std::sync::Arc;

on_every_device!(
    each_failure_is_a_typed_error,
    one_that_runs_its_own_model,
    one_that_asks_for_the_session_that_runs,
    one_that_runs_another_model,
);

fn graph(mode: &str) -> Graph {
    let g = GraphBuilder::new("naughty");
    let x = g.input("x", f32([3u64]));
    let own = g.named("own").custom("test.naughty", mode, &[g.neg(x)], [f32([3u64])]);
    g.output("y", g.neg(own[0]));
    g.build().expect("sound")
}

const X: [f32; 3] = [1.5, -2.0, 3.0];

fn run(session: &mut Session) -> Result<Vec<f32>, RuntimeError> {
    let out = session.run(&[("x", TensorView::f32(&X, [3]))])?;
    out.get("y").map(|y| y.to_vec::<f32>().expect("f32"))
}

fn custom(error: RuntimeError) -> CustomError {
    match error {
        RuntimeError::Device(DeviceError::Custom { origin, error }) => {
            assert_eq!(origin, "own");
            error
        }
        other => panic!("{other}"),
    }
}

fn expected(mode: &str) -> CustomError {
    let op = "test.naughty".to_owned();
    let other = |given: &str| CustomError::Result {
        op: "test.naughty".to_owned(),
        result: 0,
        given: given.to_owned(),
        expected: "f32[3]".to_owned(),
    };
    match mode {
        "panic" => CustomError::Panicked { op, message: "of element -1.5".to_owned() },
        "panic with a value" => {
            CustomError::Panicked { op, message: "with a value that is no text".to_owned() }
        }
        "error" => CustomError::Failed { op, reason: "out of paint".to_owned() },
        "short" => other("f32[2]"),
        "long" => other("f32[6]"),
        "dtype" => other("i32[3]"),
        "count" => CustomError::Count { op, given: 0, expected: 1 },
        mode => panic!("{mode}"),
    }
}

fn each_failure_is_a_typed_error(fixture: &Fixture) {
    let (ops, _) = ops();
    for mode in ["panic", "panic with a value", "error", "short", "long", "dtype", "count"] {
        let exe = load(fixture, &graph(mode), &ops).expect("loads");
        let mut session = exe.session().expect("a session");
        for _ in 0..2 {
            let error = custom(run(&mut session).expect_err(mode));
            assert_eq!(error, expected(mode));
            assert!(error.to_string().contains("`test.naughty`"), "{error}");
        }
        assert!(
            matches!(session.output("y"), Err(RuntimeError::NoResults)),
            "{mode}: nothing looks like a result"
        );
        let g = graph(mode);
        let x = Arc::new(pumice_cpu_ref::Array::floats(pumice_types::DType::F32, &[3], vec![1.5, -2.0, 3.0]));
        let want = eval_graph_with(&g, &|_| Some(x.clone()), &Bindings::new(), EvalOptions::default(), &ops);
        assert!(
            matches!(want, Err(EvalError::Custom { name, error }) if name == "own" && error == expected(mode))
        );
    }
    // Another model of the same registry is as it was.
    let exe = load(fixture, &graph("well"), &ops).expect("loads");
    assert_eq!(run(&mut exe.session().expect("a session")).expect("runs"), X);
}

/// A run of its own model, in a new session, would call it again, and so on: the inner call is refused.
fn one_that_runs_its_own_model(fixture: &Fixture) {
    let (ops, call) = ops();
    let exe = load(fixture, &graph("calls"), &ops).expect("loads");
    let (own, slot) = (exe.clone(), call.clone());
    let again = move || {
        let mut session = own.session().map_err(|e| e.to_string())?;
        let inner = custom(run(&mut session).expect_err("it is inside itself"));
        assert_eq!(inner, CustomError::Reentrant { op: "test.naughty".to_owned() });
        assert!(slot.lock().expect("not poisoned").is_none());
        Err(inner.to_string())
    };
    *call.lock().expect("not poisoned") = Some(Box::new(again));
    let mut session = exe.session().expect("a session");
    let error = custom(run(&mut session).expect_err("says why"));
    assert!(
        matches!(&error, CustomError::Failed { reason, .. } if reason.contains("calls itself")),
        "{error}"
    );
    assert_eq!(run(&mut session).expect("the session runs again"), X);
}

thread_local! {
    static RUNNING: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// The session that runs is borrowed: asking for it panics, and that is an error like any other.
fn one_that_asks_for_the_session_that_runs(fixture: &Fixture) {
    let (ops, call) = ops();
    let exe = load(fixture, &graph("calls"), &ops).expect("loads");
    let again = || {
        RUNNING
            .with_borrow_mut(|s| s.as_mut().map_or(Ok(()), |s| run(s).map(drop).map_err(|e| e.to_string())))
    };
    *call.lock().expect("not poisoned") = Some(Box::new(again));
    RUNNING.set(Some(exe.session().expect("a session")));
    let first = RUNNING.with_borrow_mut(|s| run(s.as_mut().expect("set")));
    let error = custom(first.expect_err("it cannot"));
    assert!(
        matches!(&error, CustomError::Panicked { message, .. } if message.contains("borrowed")),
        "{error}"
    );
    assert_eq!(RUNNING.with_borrow_mut(|s| run(s.as_mut().expect("set"))).expect("runs again"), X);
    RUNNING.set(None);
}

/// What is not itself it may run.
fn one_that_runs_another_model(fixture: &Fixture) {
    let (ops, call) = ops();
    let exe = load(fixture, &graph("calls"), &ops).expect("loads");
    let g = GraphBuilder::new("other");
    g.output("y", g.relu(g.input("x", f32([3u64]))));
    let other = load(fixture, &g.build().expect("sound"), &ops).expect("loads");
    let runs = move || {
        let y = run(&mut other.session().map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
        assert_eq!(y, [1.5, 0.0, 3.0]);
        Ok(())
    };
    *call.lock().expect("not poisoned") = Some(Box::new(runs));
    assert_eq!(run(&mut exe.session().expect("a session")).expect("runs"), X);
    *call.lock().expect("not poisoned") = None;
}
