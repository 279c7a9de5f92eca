//! What a run says about inputs that are missing, unknown, or of the wrong kind; symbols; bound and kept inputs.

use crate::fake::{Call, executable};
use crate::sketch::{Sketch, add_bias, n};
use pumice_plan::RegionKind;
use pumice_runtime::{RunOptions, RuntimeError, SymbolSource};
use pumice_types::{DType, DimExpr, Encoding, TensorView};

fn keep() -> RunOptions {
    RunOptions::default().keep(true)
}

#[test]
fn names_and_kinds_are_checked_before_anything_runs() {
    let (exe, log) = executable(add_bias());
    exe.set_param("w", &[1.0, 2.0, 3.0]).expect("three values");
    let mut s = exe.session().expect("a session");
    let x = [0f32; 6];
    let good = TensorView::f32(&x, [2, 3]);
    log.take();
    assert!(matches!(s.run(&[]), Err(RuntimeError::MissingInputs { names }) if names == ["x"]));
    assert!(matches!(s.run(&[("z", good)]), Err(RuntimeError::UnknownName { name, known, .. })
        if name == "z" && known == ["x"]));
    assert!(
        matches!(s.run(&[("x", good), ("x", good)]), Err(RuntimeError::Duplicate { name, .. }) if name == "x")
    );
    let wrong = TensorView::i32(&[0; 6], [2, 3]);
    assert!(matches!(
        s.run(&[("x", wrong)]),
        Err(RuntimeError::DType {
            expected: Encoding::Plain(DType::F32),
            given: Encoding::Plain(DType::I32),
            ..
        })
    ));
    let wrong = TensorView::f32(&x, [6]);
    assert!(matches!(s.run(&[("x", wrong)]), Err(RuntimeError::Rank { expected: 2, given: 1, .. })));
    let wrong = TensorView::f32(&x, [3, 2]);
    assert!(matches!(s.run(&[("x", wrong)]), Err(RuntimeError::Extent { axis: 1, given: 2, .. })));
    let wrong = TensorView::f32(&x, [3, 3]);
    assert!(matches!(s.run(&[("x", wrong)]), Err(RuntimeError::Tensor { .. })));
    let (long, none) = ([0f32; 27], [0f32; 0]);
    let wrong = TensorView::f32(&long, [9, 3]);
    assert!(matches!(s.run(&[("x", wrong)]), Err(RuntimeError::SymbolRange { value: 9, max: 8, .. })));
    let wrong = TensorView::f32(&none, [0, 3]);
    assert!(matches!(s.run(&[("x", wrong)]), Err(RuntimeError::SymbolRange { value: 0, min: 1, .. })));
    assert_eq!(log.take(), [], "the device saw nothing of it");
    let out = s.run(&[("x", good)]).expect("a run");
    assert_eq!(out.get("y").expect("an output").to_vec::<f32>(), Ok(vec![1.0, 2.0, 3.0, 1.0, 2.0, 3.0]));
    assert!(out.get("z").is_err() && out.at(1).is_err() && out.len() == 1);
}

#[test]
fn missing_params_are_all_named() {
    let mut k = Sketch::new();
    k.param("a", DType::F32, &[2]);
    k.param("b", DType::F16, &[2]);
    k.param("empty", DType::F32, &[0]);
    k.run(&[]);
    let (exe, log) = executable(k.finish());
    let mut s = exe.session().expect("a session");
    assert!(matches!(s.run(&[]), Err(RuntimeError::MissingParams { names }) if names == ["a", "b"]));
    assert_eq!(log.runs(), 0);
    exe.set_param("b", &[1.0, 2.0]).expect("two values");
    assert!(matches!(s.run(&[]), Err(RuntimeError::MissingParams { names }) if names == ["a"]));
    exe.set_param("a", &[1.0, 2.0]).expect("two values");
    assert!(s.run(&[]).is_ok());
}

/// a[s], b[s], c[2·s + 1], free symbol t; s a multiple of 2.
fn symbolic() -> Sketch {
    let mut k = Sketch::new();
    let s = k.symbol("s", 2, 8, 2);
    let t = k.symbol("t", 1, 4, 1);
    k.symbol("only", 5, 5, 1);
    let a = k.input("a", DType::F32, &[s.into()]);
    k.input("b", DType::F32, &[s.into()]);
    k.input("c", DType::F32, &[DimExpr::symbol(s) * n(2) + n(1)]);
    let y = k.output("y", DType::F32, &[s.into()]);
    k.output("z", DType::F32, &[DimExpr::symbol(t) - n(1)]);
    k.run(&[(2, 8), (1, 4), (5, 5)]);
    k.step("copy", &[&a], &[&y]);
    k
}

#[test]
fn symbols_are_solved_and_contradictions_name_both_sides() {
    let (exe, log) = executable(symbolic().finish());
    let mut s = exe.session().expect("a session");
    let data = [0f32; 32];
    let v = |len: usize| TensorView::f32(&data[..len], [len as u64]);
    let error = s.run(&[("a", v(4)), ("b", v(6)), ("c", v(9))]).expect_err("4 is not 6");
    let side = |name: &str| SymbolSource::Input { name: name.into(), axis: 0 };
    assert!(matches!(&error, RuntimeError::DimConstraint { symbol, first, second }
        if symbol == "s" && **first == (side("a"), 4) && **second == (side("b"), 6)));
    assert_eq!(
        error.to_string(),
        "symbol `s` is 4 by axis 0 of input `a` and 6 by axis 0 of input `b`; they must be equal"
    );
    let unbound = s.run(&[("a", v(4)), ("b", v(4)), ("c", v(9))]);
    assert!(matches!(unbound, Err(RuntimeError::UnboundSymbols { names }) if names == ["t"]));
    assert!(matches!(s.bind_symbol("t", 5), Err(RuntimeError::SymbolRange { value: 5, .. })));
    assert!(matches!(s.bind_symbol("u", 1), Err(RuntimeError::UnknownName { .. })));
    s.bind_symbol("t", 1).expect("in range");
    let odd = s.run(&[("a", v(3)), ("b", v(3)), ("c", v(7))]);
    assert!(matches!(odd, Err(RuntimeError::SymbolRange { value: 3, multiple_of: 2, .. })));
    let compound = s.run(&[("a", v(4)), ("b", v(4)), ("c", v(8))]);
    assert!(
        matches!(compound, Err(RuntimeError::Extent { expected, given: 8, .. }) if expected == "2*s + 1 = 9")
    );
    s.bind_symbol("s", 6).expect("in range");
    let bound = s.run(&[("a", v(4)), ("b", v(4)), ("c", v(9))]);
    assert!(
        matches!(bound, Err(RuntimeError::DimConstraint { first, .. }) if first.0 == SymbolSource::Bound)
    );
    s.unbind_symbol("s").expect("a symbol");
    assert_eq!(log.runs(), 0);
    let out = s.run(&[("a", v(4)), ("b", v(4)), ("c", v(9))]).expect("a run");
    assert_eq!(out.at(0).expect("y").shape(), [4]);
    assert_eq!(out.at(1).expect("z").shape(), [0], "an empty output is an output");
}

#[test]
fn kept_inputs_need_not_be_given_again() {
    let mut k = Sketch::new();
    let a = k.input("a", DType::F32, &[n(1)]);
    let b = k.input("b", DType::F32, &[n(1)]);
    let y = k.output("y", DType::F32, &[n(1)]);
    k.run(&[]);
    k.step("add", &[&a, &b], &[&y]);
    let (exe, log) = executable(k.finish());
    let mut s = exe.session().expect("a session");
    let v = |x: &'static [f32; 1]| TensorView::f32(x, [1]);
    assert!(
        matches!(s.run_with(&[("a", v(&[1.0]))], &keep()), Err(RuntimeError::MissingInputs { names }) if names == ["b"])
    );
    s.run(&[("a", v(&[1.0])), ("b", v(&[2.0]))]).expect("a run");
    assert!(
        matches!(s.run(&[("a", v(&[5.0]))]), Err(RuntimeError::MissingInputs { .. })),
        "only when asked for"
    );
    log.take();
    let out = s.run_with(&[("a", v(&[5.0]))], &keep()).expect("a run");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![7.0]));
    let writes =
        log.take().iter().filter(|c| matches!(c, Call::Write(s) if s.region == RegionKind::IoIn)).count();
    assert_eq!(writes, 1);
    let out = s.run_with(&[], &keep()).expect("a run");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![7.0]));
}

#[test]
fn an_input_whose_bytes_the_run_uses_again_is_bound_but_not_kept() {
    // The run writes its result over `a`, as a packed plan may.
    let mut k = Sketch::new();
    let a = k.input("a", DType::F32, &[n(2)]);
    let y = k.output("y", DType::F32, &[n(2)]);
    k.run(&[]);
    k.step("copy", &[&a], &[&y]);
    k.step("scale 3", &[&a], &[&a]);
    let (exe, _) = executable(k.finish());
    let mut s = exe.session().expect("a session");
    let v = TensorView::f32(&[1.0, 2.0], [2]);
    s.run(&[("a", v)]).expect("a run");
    assert!(matches!(s.run_with(&[], &keep()), Err(RuntimeError::InputNotKept { names }) if names == ["a"]));
    s.bind_input("a", v).expect("a value");
    for _ in 0..3 {
        let out = s.run(&[]).expect("a run");
        assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![1.0, 2.0]));
    }
    let mut fork = s.fork().expect("a fork");
    assert_eq!(fork.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![1.0, 2.0]));
    s.run(&[("a", TensorView::f32(&[7.0, 8.0], [2]))]).expect("a run");
    assert!(s.run(&[]).is_err(), "giving it ended the binding");
    assert!(fork.run(&[]).is_ok(), "the fork's binding is its own");
    fork.unbind_input("a").expect("an input");
    assert!(fork.run(&[]).is_err());
}

#[test]
fn bound_inputs_are_checked_when_they_are_bound() {
    let (exe, _) = executable(add_bias());
    let mut s = exe.session().expect("a session");
    assert!(matches!(s.bind_input("q", TensorView::f32(&[], [0])), Err(RuntimeError::UnknownName { .. })));
    assert!(matches!(
        s.bind_input("x", TensorView::f32(&[0.0; 2], [1, 2])),
        Err(RuntimeError::Extent { axis: 1, .. })
    ));
    assert!(matches!(s.bind_input("x", TensorView::u8(&[0; 3], [1, 3])), Err(RuntimeError::DType { .. })));
    let long = [0f32; 27];
    assert!(s.bind_input("x", TensorView::f32(&long, [9, 3])).is_err());
    exe.set_param("w", &[1.0; 3]).expect("three values");
    s.bind_input("x", TensorView::f32(&[1.0; 3], [1, 3])).expect("a value");
    assert_eq!(s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![2.0; 3]));
}
