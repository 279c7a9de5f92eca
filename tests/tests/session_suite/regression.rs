//! Softmax regression by Adam in one graph: gradients come from a product (of the weights) and a reduction (of the
//! bias), and every state is written where it lies. States that a product or a reduction makes are, too.
//!
//! The story: a product took part of Adam into its epilogue and left the new moments in scratch, and each was copied
//! into its state by a step of its own.

use crate::common::*;
use pumice_compile::Options;
use pumice_cpu_ref::{Array, EvalOptions, RefSession};
use pumice_ir::{Graph, GraphBuilder, Value, f32, sym};
use pumice_plan::check::{Fault, check as check_plan};
use pumice_plan::kernel::KernelName;
use pumice_plan::{Plan, RegionKind, Step, StepKind};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{Bindings, DType};
use std::sync::Arc;

on_every_device!(no_step_copies_a_state, products_and_reductions_write_states, factors_are_read_before);

/// p' = p − 0.1 m' / (√v' + 0.001) with m' = 0.9 m + 0.1 g and v' = 0.99 v + 0.01 g², where m and v are states `m_name`
/// and `v_name`, both 0 at first.
fn adam(g: &GraphBuilder, name: &str, shape: &[u64], p: Value, grad: Value) {
    let scaled = |x, by: f64| g.mul(x, g.constant_scalar(DType::F32, by));
    let moment = |which: &str| g.state(&format!("{which}_{name}"), f32(shape.to_vec()));
    let (m, v) = (moment("m"), moment("v"));
    let m1 = g.add(scaled(g.state_read(m), 0.9), scaled(grad, 0.1));
    let v1 = g.add(scaled(g.state_read(v), 0.99), scaled(g.mul(grad, grad), 0.01));
    g.state_write(m, m1);
    g.state_write(v, v1);
    let root = g.add(g.sqrt(v1), g.constant_scalar(DType::F32, 0.001));
    g.state_write(p, g.sub(g.state_read(p), scaled(g.div(m1, root), 0.1)));
}

/// A step on b rows: classes are `classes`, inputs `width` wide. d = softmax(x·w + bias) − y, and the gradients xᵀ·d
/// and Σd.
fn regression(width: u64, classes: u64) -> Graph {
    let g = GraphBuilder::new("regression");
    let b = sym("b", 1..=32);
    let (x, y) = (g.input("x", f32([b.clone(), width.into()])), g.input("y", f32([b, classes.into()])));
    let (w, bias) = (g.state("w", f32([width, classes])), g.state("bias", f32([classes])));
    let logits = g.add(g.matmul(x, g.state_read(w)), g.state_read(bias));
    let d = g.sub(g.softmax(logits, -1), y);
    adam(&g, "w", &[width, classes], w, g.matmul(g.transpose(x, &[1, 0]), d));
    adam(&g, "bias", &[classes], bias, g.reduce_sum(d, &[0], false));
    g.output("error", g.reduce_sum(g.mul(d, d), &[0, 1], false));
    g.build().expect("sound")
}

/// Steps that do nothing but move bytes from or to a state.
fn copies_of_states(plan: &Plan) -> Vec<String> {
    let in_states = |step: &&Step| step.uses.iter().any(|u| u.span.region == RegionKind::States);
    let steps = plan.runs.iter().flat_map(|run| &run.program.steps);
    let copies = steps.filter(in_states).filter(|step| is_copy(step));
    copies.map(|s| format!("{} {}", s.label(), s.origin)).collect()
}

/// A step of one read and one written value that computes nothing.
fn is_copy(step: &Step) -> bool {
    let (written, read): (Vec<_>, Vec<_>) = step.uses.iter().partition(|u| u.access.writes());
    let computes = match &step.kind {
        StepKind::Dispatch { call, .. } => call.holes.iter().any(|h| !h.expr.insts().is_empty()),
        _ => false,
    };
    written.len() == 1 && read.len() == 1 && !computes
}

fn no_step_copies_a_state(fixture: &Fixture) {
    for (width, classes) in [(1, 2), (5, 3), (33, 7), (64, 8), (784, 10)] {
        let graph = regression(width, classes);
        let plan = fixture.plan(&graph, &Options::default());
        let steps: Vec<String> = plan.runs[0].program.steps.iter().map(|s| s.label()).collect();
        println!("{width} x {classes}: {} steps: {steps:?}", steps.len());
        assert_eq!(copies_of_states(&plan), Vec::<String>::new(), "{width} x {classes}: {steps:?}");
        assert!(steps.len() <= 10, "{width} x {classes}: {steps:?}");
        compare(fixture, plan, &graph, width, classes);
    }
}

/// Four steps, against the evaluator's; states begin alike each time.
fn compare(fixture: &Fixture, plan: Plan, graph: &Graph, width: u64, classes: u64) {
    let exe = fixture.load(plan);
    let mut session = exe.session().expect("a session");
    let mut reference = RefSession::new(graph, &|_| None, EvalOptions::default()).expect("a session");
    for (turn, b) in [3u64, 32, 1, 17].into_iter().enumerate() {
        let x = tensor(&wave((b * width) as usize, turn as u32), &[b, width]);
        let hot = |i: u64| f32::from(u8::from(i % classes == (i / classes * 5 + 1) % classes));
        let y = tensor(&(0..b * classes).map(hot).collect::<Vec<_>>(), &[b, classes]);
        session.run(&[("x", x.view()), ("y", y.view())]).expect("runs");
        let input = |name: &str| Some(Arc::new(Array::from_tensor(if name == "x" { &x } else { &y })));
        let mut bindings = Bindings::new();
        bindings.bind(pumice_types::SymbolId(0), b);
        reference.run(&input, &bindings).expect("evaluates");
        for (value, want) in graph.states().iter().zip(reference.states()) {
            let name = &graph.value(*value).name;
            let got = floats(&session.state(name).expect("there").read().expect("reads"));
            let want: Vec<f32> = want.as_floats().iter().map(|v| *v as f32).collect();
            assert_close(&got, &want, 2e-3, &format!("{name} after step {turn}, {width} x {classes}"));
        }
    }
}

/// Whether a step of that kernel family writes a state and where it reads one.
fn writes_state(plan: &Plan, kernel: &str) -> Option<bool> {
    let of = |step: &&Step| step.label().starts_with(kernel);
    let in_state = |u: &&pumice_plan::Use| u.span.region == RegionKind::States;
    let mut steps = plan.runs[0].program.steps.iter().filter(of);
    let writes = |s: &&Step| s.uses.iter().filter(in_state).any(|u| u.access.writes());
    let step = steps.find(writes)?;
    Some(step.uses.iter().filter(in_state).any(|u| !u.access.writes()))
}

/// s += x·w, t = xᵀ·x, and u = Σx: in the product's and the reduction's own step.
fn accumulate() -> Graph {
    let g = GraphBuilder::new("accumulate");
    let (x, w) = (g.input("x", f32([6u64, 5])), g.input("w", f32([5u64, 9])));
    let (s, t, u) = (g.state("s", f32([6u64, 9])), g.state("t", f32([5u64, 5])), g.state("u", f32([5u64])));
    g.state_write(s, g.add(g.state_read(s), g.matmul(x, w)));
    g.state_write(t, g.matmul(g.transpose(x, &[1, 0]), x));
    g.state_write(u, g.reduce_sum(x, &[0], false));
    g.build().expect("sound")
}

fn products_and_reductions_write_states(fixture: &Fixture) {
    let plan = fixture.plan(&accumulate(), &Options::default());
    assert_eq!(writes_state(&plan, "matmul"), Some(true), "{plan}");
    assert_eq!(writes_state(&plan, "reduce"), Some(false), "{plan}");
    assert_eq!(plan.runs[0].program.steps.len(), 3, "{plan}");
    let exe = fixture.load(plan);
    let mut session = exe.session().expect("a session");
    let mut sum = vec![0.0; 54];
    for turn in 0..3 {
        let (x, w) = (tensor(&wave(30, turn), &[6, 5]), tensor(&wave(45, 40 + turn), &[5, 9]));
        session.run(&[("x", x.view()), ("w", w.view())]).expect("runs");
        let (x, w) = (floats(&x), floats(&w));
        let turned = |m: &[f32], rows: usize| -> Vec<f32> {
            let columns = m.len() / rows;
            (0..m.len()).map(|i| m[i % rows * columns + i / rows]).collect()
        };
        sum = zip(&sum, &linear(&x, &turned(&w, 5), None, 5), |s, y| s + y);
        let xt = turned(&x, 6);
        let columns: Vec<f32> = xt.chunks(6).map(|c| c.iter().sum()).collect();
        for (name, want) in [("s", &sum), ("t", &linear(&xt, &xt, None, 6)), ("u", &columns)] {
            let got = floats(&session.state(name).expect("there").read().expect("reads"));
            assert_eq!(&got, want, "{name}, turn {turn}");
        }
    }
}

/// s' = s·s + s and t' = Σ over rows of t, as rows again: every invocation reads elements that another one would write.
fn factors_are_read_before(fixture: &Fixture) {
    let g = GraphBuilder::new("factors");
    let (s, t) = (g.state("s", f32([8u64, 8])), g.state("t", f32([8u64])));
    let old = g.state_read(s);
    g.state_write(s, g.add(g.matmul(old, old), old));
    let sums = g.reduce_sum(g.expand(g.state_read(t), &[8, 8]), &[1], false);
    g.state_write(t, sums);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let (mut a, mut b) = (map(&wave(64, 1), |v| v / 4.0), wave(8, 2));
    session.state("s").expect("there").write_f32(&a).expect("written");
    session.state("t").expect("there").write_f32(&b).expect("written");
    for turn in 0..2 {
        session.run(&[]).expect("runs");
        let turned: Vec<f32> = (0..64).map(|i| a[i % 8 * 8 + i / 8]).collect();
        a = zip(&linear(&a, &turned, None, 8), &a, |p, s| p + s);
        b = vec![b.iter().sum(); 8];
        for (name, want) in [("s", &a), ("t", &b)] {
            let got = floats(&session.state(name).expect("there").read().expect("reads"));
            assert_close(&got, want, 1e-5, &format!("{name}, turn {turn}"));
        }
    }
}

/// The product that adds to a state, for a card that selects its own kernels and for CPU drivers.
fn accumulating() -> Vec<Plan> {
    let mut shadowed = Fixture::interpreter();
    shadowed.target = shadowed.target.selecting_as(&pumice_types::Target::h200());
    let labs = [Fixture::interpreter(), shadowed];
    labs.iter().map(|fixture| fixture.plan(&accumulate(), &Options::default())).collect()
}

/// The checker takes a product's slot that is read where the result is written, and refuses an operand there: other
/// invocations read it, and later.
#[test]
fn a_factor_is_not_written_in_place() {
    for plan in accumulating() {
        assert!(check_plan(&plan).is_ok());
        let at = plan.runs[0].program.steps.iter().position(|s| s.label().starts_with("matmul"));
        let at = at.expect("a product");
        let faults_of = |change: &dyn Fn(&mut Step)| {
            let mut plan = plan.clone();
            change(&mut plan.runs[0].program.steps[at]);
            check_plan(&plan).expect_err("in place where others read")
        };
        let overlaps = |change: &dyn Fn(&mut Step)| {
            let faults = faults_of(change);
            assert!(faults.iter().any(|f| matches!(f.fault, Fault::SelfOverlap { .. })), "{faults:?}");
        };
        // The kernel reads the state as its left operand, its right one, or as both slot and operand.
        for operand in [0, 1] {
            overlaps(&|step| {
                let StepKind::Dispatch { call, .. } = &mut step.kind else { panic!("a dispatch") };
                let slot = call.slots[0];
                call.slots[0] = std::mem::replace(&mut call.operands[operand], slot);
            });
            overlaps(&|step| {
                let StepKind::Dispatch { call, .. } = &mut step.kind else { panic!("a dispatch") };
                call.operands[operand] = call.slots[0];
            });
        }
        // A kernel that does not promise it.
        overlaps(&|step| {
            let StepKind::Dispatch { call, .. } = &mut step.kind else { panic!("a dispatch") };
            call.kernel = KernelName("reduce_rows".into());
        });
        // The slot sees other elements than the result.
        overlaps(&|step| {
            let in_state =
                |u: &&mut pumice_plan::Use| u.span.region == RegionKind::States && !u.access.writes();
            let read = step.uses.iter_mut().find(in_state).expect("it reads the state");
            Arc::make_mut(&mut read.view).strides.reverse();
        });
    }
}
