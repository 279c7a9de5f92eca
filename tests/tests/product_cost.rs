//! A step that multiplies says how many operations it takes: by them the compiler cuts products, and the runtime bounds
//! what it submits. One that says none would count as its bytes alone.

use pumice_cpu_ref::Interpreter;
use pumice_plan::{Plan, Step, StepKind};
use pumice_tests::op_suite::{Runner, cases};
use pumice_types::Target;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a CPU plans in seconds.
const ELEMENTS: u64 = 1 << 17;

/// Ops every element of whose result is a sum of products.
fn multiplies(op: &str) -> bool {
    let attends = op.starts_with("attention") && op != "attention_merge";
    attends || op == "matmul" || op == "linear" || op.starts_with("conv")
}

/// Of the graph that a step computes, the ops that multiply: `y: f32[2, 3] = linear(x, w)`.
fn products(text: &str) -> Vec<&str> {
    let calls = text.lines().filter_map(|line| line.split_once("] = ")?.1.split_once('('));
    calls.map(|(op, _)| op).filter(|op| multiplies(op)).collect()
}

/// Dispatches that multiply, and those of them that say no operations though no operand is empty.
fn steps(plan: &Plan) -> (usize, Vec<String>) {
    let dispatches = plan.programs().flat_map(|program| &program.steps);
    let multiplying: Vec<_> = dispatches
        .filter(|step| matches!(step.kind, StepKind::Dispatch { .. }))
        .filter(|step| !products(&step.meaning.graph.text).is_empty())
        .collect();
    let is_empty =
        |step: &&&Step| step.uses.iter().any(|used| used.view.shape.iter().any(|extent| extent.is(0)));
    let silent =
        multiplying.iter().filter(|step| !is_empty(step) && step.cost.upper(&plan.symbols).flops == 0);
    (multiplying.len(), silent.map(|step| format!("{} ({})", step.label(), step.origin)).collect())
}

#[test]
fn steps_that_multiply_say_their_operations() {
    let (mut seen, mut silent) = (0, BTreeSet::new());
    for selecting in [Target::lavapipe(), Target::h200()] {
        let device = Arc::new(Interpreter::new(Target::lavapipe()));
        let runner = Runner::selecting_as(device, &selecting, ELEMENTS);
        for case in cases(None).iter().filter(|c| c.elements() <= ELEMENTS) {
            let Some(plan) = case.sample.graph.as_ref().ok().and_then(|graph| runner.plan(graph).ok()) else {
                continue;
            };
            let (multiplying, without) = steps(&plan);
            seen += multiplying;
            silent.extend(without.into_iter().map(|step| format!("{}: {step}", case.name())));
        }
    }
    println!("{seen} steps multiply");
    assert!(seen > 500, "{seen} steps multiply");
    assert_eq!(silent, BTreeSet::new());
}
