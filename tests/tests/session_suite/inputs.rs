//! Inputs by name, in any order, bound and kept; what is wrong is refused by name before anything runs.

use crate::floats;
use pumice_compile::Options;
use pumice_ir::{GraphBuilder, f32, i32};
use pumice_runtime::{RunOptions, RuntimeError};
use pumice_tests::{Lab, on_every_device};
use pumice_types::TensorView;

on_every_device!(by_name_in_any_order, bound_and_kept);

fn by_name_in_any_order(lab: &Lab) {
    let g = GraphBuilder::new("inputs");
    let (a, b) = (g.input("a", f32([3u64])), g.input("b", f32([3u64])));
    let i = g.input("i", i32([2u64]));
    g.output("y", g.sub(a, b));
    g.output("z", g.gather(a, i, 0));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut s = exe.session().expect("a session");
    let (av, bv) = (TensorView::f32(&[5.0, 6.0, 7.0], [3]), TensorView::f32(&[1.0, 2.0, 3.0], [3]));
    let iv = TensorView::i32(&[2, -3], [2]);
    for inputs in [[("a", av), ("b", bv), ("i", iv)], [("i", iv), ("b", bv), ("a", av)]] {
        let out = s.run(&inputs).expect("runs");
        assert_eq!(floats(out.get("y").expect("there")), [4.0; 3]);
        assert_eq!(floats(out.get("z").expect("there")), [7.0, 5.0]);
    }
    let refused = |r: Result<pumice_runtime::Outputs, RuntimeError>| r.expect_err("refused");
    assert!(
        matches!(refused(s.run(&[("a", av), ("i", iv)])), RuntimeError::MissingInputs { names } if names == ["b"])
    );
    assert!(matches!(refused(s.run(&[("a", av), ("b", bv), ("i", iv), ("c", bv)])),
        RuntimeError::UnknownName { name, .. } if name == "c"));
    assert!(matches!(
        refused(s.run(&[("a", av), ("a", av), ("b", bv), ("i", iv)])),
        RuntimeError::Duplicate { .. }
    ));
    let short = TensorView::f32(&[5.0, 6.0], [2]);
    assert!(matches!(
        refused(s.run(&[("a", short), ("b", bv), ("i", iv)])),
        RuntimeError::Extent { given: 2, .. }
    ));
    assert!(matches!(refused(s.run(&[("a", iv), ("b", bv), ("i", iv)])), RuntimeError::DType { .. }));
    // What was refused left the last results where they were.
    assert_eq!(floats(&s.output("y").expect("of the last run")), [4.0; 3]);
    // An index outside is reported by node, or asked for.
    let outside = TensorView::i32(&[0, 3], [2]);
    let error = refused(s.run(&[("a", av), ("b", bv), ("i", outside)]));
    assert!(
        matches!(&error, RuntimeError::Status(status) if status.first == [("gather".to_owned(), 1)]),
        "{error}"
    );
    let report = RunOptions { on_status: pumice_runtime::OnStatus::Report, ..RunOptions::default() };
    let out = s.run_with(&[("a", av), ("b", bv), ("i", outside)], &report).expect("reported");
    assert_eq!(floats(out.get("z").expect("there")), [5.0, 0.0], "outside reads 0");
    assert!(!s.status().is_clean());
    s.run(&[("a", av), ("b", bv), ("i", iv)]).expect("runs");
    assert!(s.status().is_clean(), "the report does not outlive its run");
}

fn bound_and_kept(lab: &Lab) {
    let g = GraphBuilder::new("kept");
    let (a, b) = (g.input("a", f32([2u64])), g.input("b", f32([2u64])));
    g.output("y", g.add(g.mul(a, a), b));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut s = exe.session().expect("a session");
    s.bind_input("a", TensorView::f32(&[2.0, 3.0], [2])).expect("bound");
    for k in 0..3 {
        let b = [k as f32, 1.0];
        let out = s.run(&[("b", TensorView::f32(&b, [2]))]).expect("a is bound");
        assert_eq!(floats(out.at(0).expect("one")), [4.0 + k as f32, 10.0]);
    }
    let keep = RunOptions { keep: true, ..RunOptions::default() };
    match s.run_with(&[("a", TensorView::f32(&[1.0, 1.0], [2]))], &keep) {
        Ok(out) => assert_eq!(floats(out.at(0).expect("one")), [3.0, 2.0], "b of the last run"),
        Err(e) => assert!(matches!(&e, RuntimeError::InputNotKept { names } if names == &["b"]), "{e}"),
    }
    let both = [("a", TensorView::f32(&[0.0, 0.0], [2])), ("b", TensorView::f32(&[8.0, 9.0], [2]))];
    assert_eq!(floats(s.run(&both).expect("runs").at(0).expect("one")), [8.0, 9.0]);
    assert!(matches!(s.run(&[]), Err(RuntimeError::MissingInputs { names }) if names == ["a", "b"]));
}
