//! Ops of users that are not there, or whose types are not what their rules give: refused by name before anything runs.

use crate::ops::{Affine, load, ops};
use pumice_compile::Options;
use pumice_cpu_ref::{CustomOps, EvalError, EvalOptions, RefHostOps, eval_graph};
use pumice_ir::{Graph, GraphBuilder, f32, sym, tensor, text};
use pumice_plan::CheckedPlan;
use pumice_runtime::{CustomError, DeviceError, Executable, RuntimeError};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{Bindings, DType, Scheme};
use std::sync::Arc;

on_every_device!(a_plan_without_the_registry, a_plan_whose_types_are_not_the_rules);

fn two_unknown() -> Graph {
    let g = GraphBuilder::new("two");
    let x = g.input("x", f32([2u64]));
    let a = g.custom("their.second", "", &[x], [f32([2u64])])[0];
    let b = g.custom("their.first", "", &[g.relu(a)], [f32([2u64])])[0];
    g.output("y", g.custom("their.second", "again", &[b], [f32([2u64])])[0]);
    g.build().expect("sound")
}

/// Every name at once, each once, whoever prepares host steps.
fn a_plan_without_the_registry(fixture: &Fixture) {
    let plan = || CheckedPlan::new(fixture.plan(&two_unknown(), &Options::default())).expect("sound");
    let refused = [
        Executable::new(fixture.device.clone(), plan(), Arc::new(RefHostOps)),
        Executable::new(fixture.device.clone(), plan(), Arc::new(ops().0)),
    ];
    for refused in refused {
        let error = refused.map(drop).expect_err("nobody knows them");
        assert!(error.to_string().contains("`their.first`, `their.second`"), "{error}");
        assert!(matches!(
            error,
            RuntimeError::Device(DeviceError::UnknownOps { names, .. }) if names == ["their.first", "their.second"]
        ));
    }
}

/// A registry where the name means something else.
fn a_plan_whose_types_are_not_the_rules(fixture: &Fixture) {
    let g = GraphBuilder::new("other_types");
    let x = g.input("x", f32([sym("n", 1..=4)]));
    g.output("y", g.named("own").custom("test.affine", "1 0", &[x], [f32([3u64]), f32([1u64])])[0]);
    let error = load(fixture, &g.build().expect("sound"), &ops().0).map(drop).expect_err("other types");
    let RuntimeError::Device(DeviceError::Custom { origin, error }) = error else { panic!("{error}") };
    assert_eq!(origin, "own");
    let expected =
        "`test.affine` gives (f32[n], f32[1]) for these operands, the node states (f32[3], f32[1])";
    assert_eq!(error.to_string(), expected);
}

/// By the public face: compiling says every node that it cannot know, and what rules refuse.
#[test]
fn compiling_says_what_is_wrong_with_each_node() {
    let options = pumice::Options::default();
    let refused = |graph: &Graph, device: &pumice::Device| match pumice::compile(graph, device, &options) {
        Err(pumice::Error::Custom { mistakes }) => mistakes,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("compiled"),
    };
    let device = pumice::Device::cpu();
    let nodes: Vec<String> = refused(&two_unknown(), &device).into_iter().map(|(node, _)| node).collect();
    assert_eq!(nodes, ["their.second", "their.first", "their.second_2"]);
    assert!(matches!(
        pumice::plan(&two_unknown(), device.target(), &options),
        Err(pumice::Error::Custom { .. })
    ));

    let device = device.with_custom_ops(ops().0);
    let g = GraphBuilder::new("refused");
    let x = g.input("x", f32([2u64]));
    let modes =
        [("test.naughty", "panicking rule"), ("test.naughty", "refusing rule"), ("test.affine", "one")];
    for (i, (name, mode)) in modes.into_iter().enumerate() {
        g.output(&format!("y{i}"), g.custom(name, mode, &[x], [f32([2u64])])[0]);
    }
    let errors: Vec<CustomError> =
        refused(&g.build().expect("sound"), &device).into_iter().map(|(_, error)| error).collect();
    let naughty = || "test.naughty".to_owned();
    assert_eq!(errors[0], CustomError::Panicked { op: naughty(), message: "no rule of mine".into() });
    assert_eq!(errors[1], CustomError::Refused { op: naughty(), reason: "not of these".into() });
    assert!(matches!(&errors[2], CustomError::Refused { op, .. } if op == "test.affine"));
    assert_eq!(errors.len(), 3);
}

#[test]
fn the_evaluator_without_the_registry() {
    let one = eval_graph(&two_unknown(), &|_| Some(zeros()), &Bindings::new(), EvalOptions::default());
    let unknown = CustomError::Unknown { names: vec!["their.second".to_owned()] };
    assert_eq!(one.map(drop), Err(EvalError::Custom { name: "their.second".to_owned(), error: unknown }));
}

fn zeros() -> Arc<pumice_cpu_ref::Array> {
    Arc::new(pumice_cpu_ref::Array::floats(DType::F32, &[2], vec![0.0; 2]))
}

#[test]
fn names_are_free_once_and_not_pumices() {
    let long = "n".repeat(257);
    for name in ["", "pumice.weave", "pumice.mine", &*long] {
        let refused = CustomOps::new().with(name, Affine).map(drop).expect_err(name);
        assert!(matches!(&refused, CustomError::Name { name: n, .. } if n == name), "{refused}");
    }
    let twice = CustomOps::new().with("a", Affine).and_then(|ops| ops.with("a", Affine));
    assert!(matches!(twice, Err(CustomError::Name { .. })));
    let unknown = ops().0.apply(&GraphBuilder::new("g"), "nobody", "", &[]);
    assert_eq!(unknown.map(drop), Err(CustomError::Unknown { names: vec!["nobody".to_owned()] }));
}

#[test]
fn nodes_beyond_the_limits() {
    let (long, fat) = ("n".repeat(257), "a".repeat((1 << 16) + 1));
    let refused = |name: &str, attributes: &str, operands: usize, results: usize| {
        let g = GraphBuilder::new("g");
        let xs: Vec<_> = (0..operands).map(|i| g.input(&format!("x{i}"), f32([1u64]))).collect();
        let ys = g.custom(name, attributes, &xs, (0..results).map(|_| f32([1u64])));
        assert_eq!(ys.len(), results.max(1));
        g.output("y", ys[0]);
        g.build().map(drop).expect_err("refused").to_string()
    };
    assert!(refused("", "", 1, 1).contains("attribute `name`: it has 0 bytes"));
    assert!(refused(&long, "", 1, 1).contains("attribute `name`: it has 257 bytes"));
    assert!(refused("a", &fat, 1, 1).contains("65537 bytes are more than 65536"));
    assert!(refused("a", "", 1, 0).contains("there are 0 results"));
    assert!(refused("a", "", 1, 257).contains("there are 257 results"));
    assert!(refused("a", "", 257, 1).contains("257 operands given"));
    let g = GraphBuilder::new("g");
    g.output("y", g.custom("a", "", &[], [tensor(Scheme::Q4_0, [32u64])])[0]);
    assert!(g.build().map(drop).expect_err("blocks").to_string().contains("q4_0"));
}

#[test]
fn text_that_is_no_such_node() {
    for (node, why) in [
        ("y: f32[1] = custom(x) {name = \"\"}", "it has 0 bytes"),
        ("y: f32[1] = custom(x)", "attribute `name` is missing"),
        ("y = custom(x) {name = \"a\"}", "custom `y` needs a type"),
        ("y: f32[1], z = custom(x) {name = \"a\"}", "custom `z` needs a type"),
        ("y: f32[1] = custom(_, x) {name = \"a\"}", "operand `xs` is missing"),
        ("y: q4_0[32] = custom(x) {name = \"a\"}", "q4_0"),
        ("y: f32[1] = custom(x) {name = \"a\", attributes = 3}", "attribute `attributes` must be a string"),
        ("y: f32[1], z: f32[1] = input()", "must be a type"),
        (
            "y: f32[1] = fused(x) {kind = \"k\", body = graph b { i: f32[1] = input() o: f32[1] = custom(i) {name = \"a\"} output o = o }}",
            "`a` of a user",
        ),
    ] {
        let text = format!("graph g {{\n  x: f32[1] = input()\n  {node}\n  output y = y\n}}");
        let error = text::read(&text).map(drop).expect_err(node).to_string();
        assert!(error.contains(why), "{node}: {error}");
    }
}

/// A plan with a kernel that pumice does not have, as a user's would be, is refused by the kernel's name.
#[test]
fn kernels_of_users_are_refused_by_name() {
    let g = GraphBuilder::new("g");
    g.output("y", g.relu(g.input("x", f32([2u64]))));
    let mut plan = Fixture::interpreter().plan(&g.build().expect("sound"), &Options::default());
    let steps = plan.programs_mut().flat_map(|p| &mut p.steps);
    let mut changed = 0;
    for step in steps {
        if let pumice_plan::StepKind::Dispatch { call, .. } = &mut step.kind {
            call.kernel.0 = "my_kernel".into();
            changed += 1;
        }
    }
    assert!(changed > 0);
    let error = CheckedPlan::new(plan).map(drop).expect_err("not sound").to_string();
    assert!(error.contains("my_kernel"), "{error}");
}
