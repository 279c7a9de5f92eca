//! Params by f32, typed view and raw bytes, at any time; tied ones; derived and merged ones kept in step.

use crate::{floats, numbers, product};
use pumice_compile::Options;
use pumice_ir::{GraphBuilder, bf16, f16, f32};
use pumice_runtime::RuntimeError;
use pumice_tests::{Lab, on_every_device};
use pumice_types::{DType, Tensor, TensorView};

on_every_device!(
    every_form_and_any_time,
    tied_params_are_one_storage,
    merged_params_stay_in_step,
    what_is_missing_is_named
);

/// y = x·w + h·b, with h in f16 and b in bf16.
fn every_form_and_any_time(lab: &Lab) {
    let g = GraphBuilder::new("forms");
    let x = g.input("x", f32([2u64, 4]));
    let (w, h, b) = (g.param("w", f32([4u64, 3])), g.param("h", f16([3u64])), g.param("b", bf16([3u64])));
    let (h, b) = (g.cast(h, DType::F32), g.cast(b, DType::F32));
    g.output("y", g.add(g.matmul(x, w), g.mul(h, b)));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut session = exe.session().expect("a session");
    let x = numbers(8, 1);
    let run = |s: &mut pumice_runtime::Session| {
        let out = s.run(&[("x", TensorView::f32(&x, [2, 4]))]).expect("runs");
        floats(out.get("y").expect("an output"))
    };
    let expected = |w: &[f32], h: &[f32], b: &[f32]| -> Vec<f32> {
        product(&x, w, 4, 3).iter().enumerate().map(|(i, v)| v + h[i % 3] * b[i % 3]).collect()
    };
    let (w, h, b) = (numbers(12, 2), numbers(3, 3), numbers(3, 4));
    exe.set_param("w", &w).expect("f32");
    exe.set_param("h", &h).expect("f32 into f16");
    let halves: Vec<u8> = b.iter().flat_map(|v| half::bf16::from_f32(*v).to_le_bytes()).collect();
    exe.set_param_bytes("b", &halves).expect("bf16 bytes");
    assert_eq!(run(&mut session), expected(&w, &h, &b));

    // Between two runs of a session, each form.
    let (w2, h2) = (numbers(12, 5), numbers(3, 6));
    let typed: Vec<half::f16> = h2.iter().map(|v| half::f16::from_f32(*v)).collect();
    exe.set_params(&[("w", TensorView::f32(&w2, [4, 3])), ("h", TensorView::f16(&typed, [3]))])
        .expect("views");
    assert_eq!(run(&mut session), expected(&w2, &h2, &b));
    exe.set_param("w", &w).expect("again");
    exe.set_param("w", &w2).expect("twice before a run");
    assert_eq!(run(&mut session), expected(&w2, &h2, &b));
    assert_eq!(exe.param("h").expect("stored"), Tensor::new(&typed, &[3]).expect("three"));

    // What is refused changes nothing.
    assert!(matches!(exe.set_param("w", &w[1..]), Err(RuntimeError::Length { expected: 12, given: 11, .. })));
    assert!(matches!(exe.set_param("v", &w), Err(RuntimeError::UnknownName { .. })));
    assert!(matches!(exe.set_param_bytes("h", &[0; 5]), Err(RuntimeError::Length { .. })));
    assert!(matches!(
        exe.set_param_view("w", TensorView::f32(&w, [3, 4])),
        Err(RuntimeError::Extent { axis: 0, given: 3, .. })
    ));
    assert!(matches!(
        exe.set_param_view("w", TensorView::i32(&[0; 12], [4, 3])),
        Err(RuntimeError::DType { .. })
    ));
    assert_eq!(run(&mut session), expected(&w2, &h2, &b));
}

/// Two names, one storage: setting one sets the other, and what is derived from either follows.
fn tied_params_are_one_storage(lab: &Lab) {
    let g = GraphBuilder::new("tied");
    let x = g.input("x", f32([2u64, 3]));
    g.output("y", g.mul(x, g.param("w", f32([3u64]))));
    let mut plan = lab.plan(&g.build().expect("sound"), &Options::default());
    let tied = pumice_plan::ParamSlot { name: "v".into(), ..plan.params[0].clone() };
    plan.params.push(tied);
    pumice_tests::op_suite::checked(&plan).expect("tied params are right");
    let exe = lab.load(plan);
    exe.set_param("v", &[1.0, 2.0, 3.0]).expect("by the second name");
    assert_eq!(exe.missing_params(), Vec::<String>::new());
    let mut session = exe.session().expect("a session");
    let mut run = || {
        let out = session.run(&[("x", TensorView::f32(&[1.0; 6], [2, 3]))]).expect("runs");
        floats(out.get("y").expect("an output"))
    };
    assert_eq!(run(), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    exe.set_param("w", &[4.0, 5.0, 6.0]).expect("by the first name");
    assert_eq!(floats(&exe.param("v").expect("stored")), [4.0, 5.0, 6.0]);
    assert_eq!(run(), [4.0, 5.0, 6.0, 4.0, 5.0, 6.0]);
}

/// Three products of one operand become one over a derived matrix; setting one of the three re-derives it.
fn merged_params_stay_in_step(lab: &Lab) {
    let g = GraphBuilder::new("merged");
    let x = g.input("x", f32([5u64, 16]));
    for name in ["q", "k", "v"] {
        let w = g.param(&format!("w{name}"), f32([16u64, 16]));
        let b = g.param(&format!("b{name}"), f32([16u64]));
        g.output(name, g.linear(x, w, Some(b)));
    }
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    assert!(!exe.plan().load.steps.is_empty(), "nothing is derived: this test shows nothing");
    let x = numbers(80, 1);
    let mut weights: Vec<(Vec<f32>, Vec<f32>)> =
        (0..3).map(|i| (numbers(256, 10 + i), numbers(16, 20 + i))).collect();
    for (name, (w, b)) in ["q", "k", "v"].iter().zip(&weights) {
        exe.set_param(&format!("w{name}"), w).expect("set");
        exe.set_param(&format!("b{name}"), b).expect("set");
    }
    let mut session = exe.session().expect("a session");
    let mut check = |weights: &[(Vec<f32>, Vec<f32>)]| {
        let out = session.run(&[("x", TensorView::f32(&x, [5, 16]))]).expect("runs");
        for (i, (w, b)) in weights.iter().enumerate() {
            let transposed: Vec<f32> = (0..256).map(|at| w[at % 16 * 16 + at / 16]).collect();
            let mut expected = product(&x, &transposed, 16, 16);
            expected.iter_mut().enumerate().for_each(|(at, v)| *v += b[at % 16]);
            assert_eq!(floats(out.at(i).expect("an output")), expected, "output {i}");
        }
    };
    check(&weights);
    weights[1].0 = numbers(256, 99);
    exe.set_param("wk", &weights[1].0).expect("between runs");
    check(&weights);
    weights[2].1 = numbers(16, 98);
    exe.set_param("bv", &weights[2].1).expect("between runs");
    check(&weights);
    assert_eq!(floats(&exe.param("wk").expect("stored")), weights[1].0, "what was stored is what is read");
}

/// A run without all params says which; the session is usable afterwards.
fn what_is_missing_is_named(lab: &Lab) {
    let g = GraphBuilder::new("missing");
    let x = g.input("x", f32([2u64]));
    g.output("y", g.add(g.mul(x, g.param("a", f32([2u64]))), g.param("b", f32([2u64]))));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut session = exe.session().expect("a session");
    let x = [("x", TensorView::f32(&[1.0, 2.0], [2]))];
    assert!(matches!(session.run(&x), Err(RuntimeError::MissingParams { names }) if names == ["a", "b"]));
    exe.set_param("b", &[1.0, 1.0]).expect("set");
    assert!(matches!(session.run(&x), Err(RuntimeError::MissingParams { names }) if names == ["a"]));
    exe.set_param("a", &[2.0, 3.0]).expect("set");
    assert_eq!(floats(session.run(&x).expect("runs").at(0).expect("one")), [3.0, 7.0]);
}
