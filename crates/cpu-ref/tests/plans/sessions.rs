//! Sessions on the interpreter: what a GPU's sessions do, without one.

use crate::harness::plan;
use pumice_compile::Options;
use pumice_cpu_ref::{Interpreter, RefEval, RefHostOps};
use pumice_ir::ops::Fft;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{Graph, GraphBuilder, f32, i32, sym};
use pumice_plan::{Access, CheckedPlan, Placement, RegionKind};
use pumice_runtime::{Executable, OnStatus, RunOptions, RuntimeError, Session};
use pumice_types::{Target, TensorView};
use std::sync::Arc;

fn executable(graph: &Graph, options: &Options) -> Executable {
    let plan = plan(graph, options).unwrap_or_else(|e| panic!("{e:?}"));
    load(plan).unwrap_or_else(|e| panic!("{e}"))
}

fn load(plan: CheckedPlan) -> Result<Executable, RuntimeError> {
    Executable::new(Arc::new(Interpreter::new(Target::lavapipe())), plan, Arc::new(RefHostOps))
}

fn numbers(session: &mut Session, inputs: &[(&str, TensorView<'_>)], steps: u32) -> Vec<f32> {
    let out = session.run_steps(inputs, steps).unwrap_or_else(|e| panic!("{e}"));
    out.at(0).map(|t| t.to_vec::<f32>().expect("f32")).expect("one output")
}

/// A running sum with a cache: appends x at a position that advances, gives the sum of the cache.
fn cache() -> Graph {
    let g = GraphBuilder::new("cache");
    let x = g.input("x", f32([1u64, 2]));
    let pos = g.scalar_advancing("pos", 0, 7, 0, 1u64.into());
    let kv = g.cache("kv", f32([8u64, 2]), 0);
    let after = g.kv_append(kv, x, pos, 0, AppendMode::Linear);
    let sum = g.reduce_sum(g.state_read(after), &[0], false);
    g.output("sum", sum);
    g.build().expect("a graph")
}

#[test]
fn several_replays_are_several_runs() {
    let exe = executable(&cache(), &Options::default());
    let (mut one, mut four) = (exe.session().expect("memory"), exe.session().expect("memory"));
    let x = [1.0f32, 2.0];
    let inputs = [("x", TensorView::f32(&x, [1, 2]))];
    let singly: Vec<Vec<f32>> = (0..4).map(|_| numbers(&mut one, &inputs, 1)).collect();
    assert_eq!(singly[3], [4.0, 8.0]);
    assert_eq!(numbers(&mut four, &inputs, 4), singly[3]);
    for session in [&mut one, &mut four] {
        assert_eq!(session.scalar("pos").expect("it is there").to_string(), "4");
        assert_eq!(
            session.state("kv").and_then(|mut s| s.read_row(3)).expect("a row").to_vec(),
            Ok(x.to_vec())
        );
    }
    // A fork goes on alone.
    let mut fork = one.fork().expect("memory");
    assert_eq!(numbers(&mut fork, &inputs, 1), [5.0, 10.0]);
    assert_eq!(numbers(&mut one, &inputs, 2), [6.0, 12.0]);
    // The cache is full: the ninth row is reported.
    numbers(&mut one, &inputs, 1);
    one.set_scalar("pos", 7i64).expect("in range");
    numbers(&mut one, &inputs, 1);
}

#[test]
fn rows_past_the_capacity_are_reported() {
    let g = GraphBuilder::new("cache");
    let x = g.input("x", f32([sym("t", 1..=4), 2.into()]));
    let pos = g.scalar("pos", i32([0u64; 0]), 0.0, 8.0, 0.0);
    let kv = g.cache("kv", f32([8u64, 2]), 0);
    let after = g.kv_append(kv, x, pos, 0, AppendMode::Linear);
    g.output("sum", g.reduce_sum(g.state_read(after), &[0, 1], false));
    let mut session =
        executable(&g.build().expect("a graph"), &Options::default()).session().expect("memory");
    session.set_scalar("pos", 6i64).expect("in range");
    let x = [1.0f32; 8];
    let error = session.run(&[("x", TensorView::f32(&x, [4, 2]))]).expect_err("two rows are outside");
    assert!(matches!(&error, RuntimeError::Status(s) if s.flags == 2 && s.first.len() == 1), "{error}");
    let report = RunOptions::default().on_status(OnStatus::Report);
    session.run_with(&[("x", TensorView::f32(&x[..4], [2, 2]))], &report).expect("they fit");
    assert!(session.status().is_clean(), "{}", session.status());
}

#[test]
fn derived_weights_follow_their_params() {
    let g = GraphBuilder::new("derived");
    let x = g.input("x", f32([1u64, 4]));
    let (a, b) = (g.param("a", f32([4u64, 4])), g.param("b", f32([4u64, 4])));
    let both = g.matmul(x, g.transpose(g.concat(&[a, b], 0), &[1, 0]));
    g.output("y", both);
    let exe = executable(&g.build().expect("a graph"), &Options::default());
    let mut session = exe.session().expect("memory");
    let x = [1.0f32, 1.0, 1.0, 1.0];
    let inputs = [("x", TensorView::f32(&x, [1, 4]))];
    assert!(
        matches!(session.run(&inputs), Err(RuntimeError::MissingParams { names }) if names == ["a", "b"])
    );
    exe.set_param("a", &[1.0; 16]).expect("16");
    exe.set_param("b", &[2.0; 16]).expect("16");
    assert_eq!(numbers(&mut session, &inputs, 1), [4.0, 4.0, 4.0, 4.0, 8.0, 8.0, 8.0, 8.0]);
    exe.set_param("b", &[3.0; 16]).expect("16");
    assert_eq!(numbers(&mut session, &inputs, 1)[4..], [12.0; 4]);
    assert_eq!(exe.param("b").expect("it was set").to_vec(), Ok(vec![3.0f32; 16]));
}

/// Host steps first, in the middle and last.
#[test]
fn host_steps_stand_anywhere() {
    let g = GraphBuilder::new("host");
    let x = g.input("x", f32([sym("n", 1..=3), 6.into(), 1.into()]));
    let once = g.fft(x, Fft { axis: 0, ..Fft::default() });
    let between = g.neg(once);
    let back = g.fft(between, Fft { axis: 0, inverse: true, ..Fft::default() });
    g.output("y", back);
    let graph = g.build().expect("a graph");
    for placement in [Placement::Packed, Placement::Bump] {
        let exe = executable(&graph, &Options::default().placement(placement));
        let plan = exe.plan();
        assert_eq!(plan.runs[0].program.steps.iter().filter(|s| s.is_host()).count(), 2);
        let mut session = exe.session().expect("memory");
        for n in [2u64, 1, 3] {
            let x: Vec<f32> = (0..6 * n).map(|i| i as f32).collect();
            let y = numbers(&mut session, &[("x", TensorView::f32(&x, [n, 6, 1]))], 1);
            for (i, v) in x.iter().enumerate() {
                assert!((y[2 * i] + v).abs() < 1e-5 && y[2 * i + 1].abs() < 1e-5, "{y:?}");
            }
        }
        let x = [("x", TensorView::f32(&[0.0; 6], [1, 6, 1]))];
        let profile = session.profile(&x, &RunOptions::default()).expect("it runs");
        assert_eq!(profile.steps.len(), plan.runs[0].program.steps.len());
    }
}

/// The interpreter does not let a plan get by on luck: bytes that a step forgot to write read as NaN.
#[test]
fn what_was_not_written_reads_as_poison() {
    let g = GraphBuilder::new("poison");
    let x = g.input("x", f32([4u64]));
    g.output("y", g.tanh(g.softmax(x, 0)));
    let mut plan = plan(&g.build().expect("a graph"), &Options::default()).expect("a plan").into_plan();
    let program = &mut plan.runs[0].program;
    program.steps.remove(0);
    for level in &mut program.levels {
        level.steps.start = level.steps.start.saturating_sub(1);
        level.steps.end -= 1;
    }
    let device = Interpreter::new(Target::lavapipe());
    let exe = Executable::new(Arc::new(device), CheckedPlan::unsound(plan.clone()), Arc::new(RefHostOps))
        .expect("unchecked");
    let mut session = exe.session().expect("memory");
    let y = numbers(&mut session, &[("x", TensorView::f32(&[0.0; 4], [4]))], 1);
    assert!(y.iter().all(|v| v.is_nan()), "{y:?}");
    let refused = CheckedPlan::new(plan).expect_err("a step is missing").to_string();
    assert!(refused.contains("faults"), "{refused}");
}

/// A meaning reads what its uses say and nothing else.
#[test]
fn undeclared_accesses_are_errors() {
    let g = GraphBuilder::new("undeclared");
    let x = g.input("x", f32([4u64]));
    g.output("y", g.tanh(x));
    let mut plan = plan(&g.build().expect("a graph"), &Options::default()).expect("a plan").into_plan();
    let step = &mut plan.runs[0].program.steps[0];
    let i = step.uses.iter().position(|u| u.span.region == RegionKind::IoIn).expect("it reads x");
    step.uses[i].access = Access::ShaderWrite;
    let device = Interpreter::new(Target::lavapipe());
    let exe = Executable::new(Arc::new(device), CheckedPlan::unsound(plan), Arc::new(RefHostOps))
        .expect("unchecked");
    let mut session = exe.session().expect("memory");
    let error = session.run(&[("x", TensorView::f32(&[0.0; 4], [4]))]).expect_err("it reads a write");
    assert!(error.to_string().contains("its meaning reads use"), "{error}");
}

/// More than one allocation of lavapipe: a region is a list of chunks.
#[test]
fn the_machines_memory_is_the_interpreters() {
    let device = Interpreter::of_machine();
    let g = GraphBuilder::new("five");
    let x = g.input("x", f32([1u64]));
    let sum = (0..5).fold(x, |sum, i| {
        let p = g.param(&format!("p{i}"), f32([1u64 << 27]));
        g.add(sum, g.narrow(p, 0, 0u64, 1u64))
    });
    g.output("y", sum);
    let graph = g.build().expect("sound");
    let target = pumice_runtime::Device::target(&device);
    let enough = target.limits.memory.0 > 3 << 30;
    let plan = pumice_compile::compile(&graph, target, &Options::default(), &RefEval);
    match plan {
        Ok(plan) => assert_eq!(plan.region(RegionKind::Weights).map(|r| r.chunks.len()), Some(2)),
        Err(e) => assert!(!enough, "{e}"),
    }
}
