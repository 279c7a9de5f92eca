//! 64-bit integers on a target whose kernels have none: moved by kernels, computed by the host, or refused.
//!
//! Kernels computed with 64-bit integers whatever the target offered, copies of them among these, and the checker
//! looked at the variant's features alone, not at what holes compute. The harness checks every plan.

use crate::harness::{compare_planned, plan_for};
use pumice_compile::Options;
use pumice_cpu_ref::sample;
use pumice_ir::{Fill, Graph, GraphBuilder, Op, Sample, f32, i64};
use pumice_plan::{Plan, StepKind};
use pumice_types::{DType, Target};

/// Larger samples show nothing more.
const MOST_ELEMENTS: u64 = 1 << 12;

fn target() -> Target {
    let mut target = Target::h200();
    target.features.int64 = false;
    target
}

/// Dispatches and host steps of a sample that must pass.
fn steps(sample: &Sample) -> (usize, usize) {
    let graph = sample.graph.as_ref().expect("a graph");
    let plan = plan_for(graph, &target(), &Options::default()).expect("a plan");
    let count = count(&plan);
    compare_planned(plan, sample, graph, 1).unwrap_or_else(|e| panic!("{}: {e:?}", sample.label));
    count
}

fn count(plan: &Plan) -> (usize, usize) {
    let host = plan.runs[0].program.steps.iter().filter(|s| s.is_host()).count();
    let dispatch = |s: &&pumice_plan::Step| matches!(s.kind, StepKind::Dispatch { .. });
    (plan.runs[0].program.steps.iter().filter(dispatch).count(), host)
}

#[test]
fn the_host_computes() {
    let two = |label: &str, build: &dyn Fn(&GraphBuilder, pumice_ir::Value, pumice_ir::Value)| {
        Sample::graph(label, |g| build(g, g.input("a", i64([3u64, 5])), g.input("b", i64([3u64, 5]))))
            .fill("a", Fill::Special)
            .fill("b", Fill::Special)
    };
    assert_eq!(steps(&two("add", &|g, a, b| g.output("y", g.add(a, b)))), (3, 1));
    assert_eq!(
        steps(&two("add a constant", &|g, a, _| {
            g.output("y", g.add(a, g.constant_scalar(DType::I64, 3.0)));
        })),
        (2, 1)
    );
    assert_eq!(steps(&two("compare", &|g, a, b| g.output("y", g.less(a, b)))), (3, 1));
    assert_eq!(steps(&two("where", &|g, a, b| g.output("y", g.select(g.less(a, b), a, b)))).1, 2);
    assert_eq!(steps(&two("to f32", &|g, a, _| g.output("y", g.cast(a, DType::F32)))), (2, 1));
    assert_eq!(
        steps(&two("divide by 7", &|g, a, _| {
            g.output("y", g.div(a, g.constant_scalar(DType::I64, 7.0)));
        })),
        (2, 1)
    );
    let from = Sample::graph("from f32", |g| {
        g.output(
            "y",
            g.cast(g.mul(g.input("x", f32([4u64])), g.constant_scalar(DType::F32, 9.0)), DType::I64),
        );
    });
    assert_eq!(steps(&from).1, 1, "the product stays on the device");
}

#[test]
fn kernels_move_them() {
    let turned = Sample::graph("transpose", |g| {
        g.output("y", g.transpose(g.input("x", i64([3u64, 5])), &[1, 0]));
    });
    assert_eq!(steps(&turned.fill("x", Fill::Special)), (1, 0));
}

#[test]
fn a_division_that_may_report_is_refused() {
    let g = GraphBuilder::new("g");
    let (a, b) = (g.input("a", i64([4u64])), g.input("b", i64([4u64])));
    g.output("y", g.div(a, b));
    let graph = g.build().expect("a graph");
    let refused = pumice_compile::compile(&graph, &target(), &Options::default(), &pumice_cpu_ref::RefEval);
    let text = refused.expect_err("refused").to_string();
    assert!(text.contains("cannot report a division by zero"), "{text}");
}

fn is_wide(graph: &Graph) -> bool {
    graph.values().any(|(_, v)| v.ty.dtype().natural_bytes() == 8)
}

/// Every sample with a 64-bit integer in it.
#[test]
fn samples_agree_with_the_evaluator() {
    let (mut passed, mut refused, mut wrong) = (0, 0, Vec::new());
    for op in Op::NAMES {
        for (i, sample) in Op::samples(op).iter().enumerate() {
            let Some(graph) = sample.graph.as_ref().ok().filter(|g| is_wide(g)) else { continue };
            if sample::largest(graph, &sample::bindings(sample, graph)) > MOST_ELEMENTS {
                continue;
            }
            let plan = plan_for(graph, &target(), &Options::default());
            match plan.and_then(|plan| compare_planned(plan, sample, graph, i as u64)) {
                Ok(_) => passed += 1,
                Err(None) if matches!(*op, "div" | "mod") => refused += 1,
                Err(why) => {
                    wrong.push(format!("{op}: {}: {}", sample.label, why.unwrap_or("refused".into())))
                }
            }
        }
    }
    println!("{passed} agree, {refused} divisions refused");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(passed > 50, "{passed}");
}
