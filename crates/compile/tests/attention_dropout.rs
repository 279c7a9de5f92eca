//! Attention that drops probabilities has no kernel: the plan has what it is made of, and says why.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::Attention;
use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_plan::Plan;
use pumice_plan::check::check;
use pumice_types::Target;

fn graph(dropout: f32) -> Graph {
    let g = GraphBuilder::new("g");
    let [q, k, v] = ["q", "k", "v"].map(|name| g.input(name, f32([1, 4, 32, 16])));
    g.output(
        "y",
        g.attention(q, k, v, None, None, Attention { causal: true, dropout, ..Attention::default() }),
    );
    g.build().expect("the graph is sound")
}

fn plan(graph: &Graph) -> Plan {
    let plan = compile(graph, &Target::lavapipe(), &Options::default(), &RefEval).expect("it compiles");
    check(&plan).unwrap_or_else(|faults| panic!("{faults:?}"));
    plan
}

/// Origins of the steps that compute.
fn origins(plan: &Plan) -> Vec<String> {
    let origins = plan.runs[0].program.steps.iter().map(|step| step.origin.to_string());
    origins.filter(|origin| origin != "io").collect()
}

#[test]
fn the_plan_says_why_it_is_composed() {
    let training = graph(0.25);
    let composed = origins(&plan(&training));
    assert!(composed.len() > 2, "{composed:?}");
    assert!(composed.iter().all(|origin| origin.contains("attention.composed_for_dropout")), "{composed:?}");
    let inference = training.for_inference().expect("it has its form");
    let whole = plan(&inference);
    assert_eq!(origins(&whole), ["attention"], "one step, which draws nothing");
}
