//! The gradient of an attention: a step by queries and a step by keys and values, no value of all pairs; rounded, it is
//! what it is made of.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::Attention;
use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_plan::check::check;
use pumice_plan::{Plan, StepKind};
use pumice_types::{Precision, Target};

const SEQUENCE: u64 = 320;

fn graph() -> Graph {
    let g = GraphBuilder::new("g");
    let qkv = ["q", "k", "v"].map(|name| g.input(name, f32([2, 4, SEQUENCE, 64])));
    let y =
        g.attention(qkv[0], qkv[1], qkv[2], None, None, Attention { causal: true, ..Attention::default() });
    let loss = g.reduce_sum(g.square(y), &[], false);
    for (i, gradient) in g.grad(loss, &qkv).into_iter().enumerate() {
        g.output(&format!("gradient {i}"), gradient);
    }
    g.build().expect("the graph is sound")
}

fn plan(target: &Target, precision: Precision) -> Plan {
    let options = Options::default().precision(precision);
    let plan = compile(&graph(), target, &options, &RefEval).expect("it compiles");
    check(&plan).unwrap_or_else(|faults| panic!("{faults:?}"));
    plan
}

/// Kernels of the gradient, with their variants.
fn kernels(plan: &Plan) -> Vec<String> {
    let steps = plan.runs[0].program.steps.iter();
    let calls = steps.filter_map(|step| match &step.kind {
        StepKind::Dispatch { call, .. } => Some(format!("{}.{}", call.kernel, call.variant)),
        _ => None,
    });
    let mut kernels: Vec<String> = calls.filter(|name| name.starts_with("attention_grad")).collect();
    kernels.sort_unstable();
    kernels
}

/// Whether a step touches a value of all pairs.
fn has_pairs(plan: &Plan) -> bool {
    let is_pairs =
        |shape: &[pumice_types::DimExpr]| shape.iter().filter(|e| e.is(SEQUENCE as i64)).count() > 1;
    plan.runs[0].program.steps.iter().flat_map(|step| &step.uses).any(|used| is_pairs(&used.view.shape))
}

#[test]
fn no_pair_leaves_the_kernels() {
    let of_gpu = plan(&Target::h200(), Precision::Exact);
    assert_eq!(kernels(&of_gpu), ["attention_grad_keys.r64_w64", "attention_grad_queries.r64_w64"]);
    assert!(!has_pairs(&of_gpu));
    let of_cpu = plan(&Target::lavapipe(), Precision::Exact);
    assert_eq!(kernels(&of_cpu), ["attention_grad_keys.plain_w64", "attention_grad_queries.plain_w64"]);
    assert!(!has_pairs(&of_cpu));
}

#[test]
fn rounded_it_is_made_of_ops() {
    let rounded = plan(&Target::h200(), Precision::Bf16);
    assert_eq!(kernels(&rounded), [""; 0]);
    assert!(has_pairs(&rounded));
}
