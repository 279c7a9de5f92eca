//! The gradients of norms are native steps: what is as large as x is read twice, by one step for dx and one for both
//! sums, and nothing of that size lies between them.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::BatchNormTraining;
use pumice_ir::{GraphBuilder, Value, f32};
use pumice_plan::check::check;
use pumice_plan::{Plan, StepKind};
use pumice_types::Target;

/// The kernels of a run that computes gradients of Σ r·y, but those that copy results out.
fn kernels(shape: [u64; 4], make: impl Fn(&GraphBuilder, Value) -> (Value, Vec<Value>)) -> Vec<String> {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32(shape));
    let (y, wanted) = make(&g, x);
    let loss = g.reduce_sum(g.mul(y, g.input("r", f32(shape))), &[0, 1, 2, 3], false);
    let gradients = g.grad(loss, &wanted);
    gradients.into_iter().enumerate().for_each(|(i, gradient)| g.output(&format!("d{i}"), gradient));
    let graph = g.build().expect("the graph is sound");
    let plan = compile(&graph, &Target::h200(), &Options::default(), &RefEval).expect("it compiles");
    check(&plan).unwrap_or_else(|faults| panic!("{faults:?}"));
    println!("{plan}");
    of_run(&plan)
}

fn of_run(plan: &Plan) -> Vec<String> {
    let steps = plan.runs[0].program.steps.iter().filter(|step| step.origin.to_string() != "io");
    let kernel = |kind: &StepKind| match kind {
        StepKind::Dispatch { call, .. } => Some(call.kernel.to_string()),
        _ => None,
    };
    steps.filter_map(|step| kernel(&step.kind)).collect()
}

fn count(kernels: &[String], name: &str) -> usize {
    kernels.iter().filter(|kernel| kernel.starts_with(name)).count()
}

#[test]
fn of_a_layer_norm() {
    let kernels = kernels([2, 3, 50, 96], |g, x| {
        let [gamma, beta] = ["gamma", "beta"].map(|name| g.param(name, f32([96])));
        (g.layer_norm(x, gamma, Some(beta), 1e-5), vec![x, gamma, beta])
    });
    assert_eq!(count(&kernels, "norm_grad"), 1, "{kernels:?}");
    assert_eq!(count(&kernels, "norm_sums_columns"), 1, "{kernels:?}");
    assert_eq!(count(&kernels, "reduce"), 2, "the sums of runs: {kernels:?}");
    // r·1, the gradient of the loss's product.
    assert!(count(&kernels, "elementwise") <= 1, "{kernels:?}");
}

#[test]
fn of_an_rms_norm() {
    let kernels = kernels([2, 3, 50, 96], |g, x| {
        let gamma = g.param("gamma", f32([96]));
        (g.rms_norm(x, gamma, 1e-5), vec![x, gamma])
    });
    assert_eq!([count(&kernels, "norm_grad"), count(&kernels, "norm_sums_columns")], [1, 1], "{kernels:?}");
    assert_eq!(count(&kernels, "reduce"), 1, "{kernels:?}");
}

/// What follows dx is computed in its step, where that has no statistics besides.
#[test]
fn of_rows_without_a_factor_that_is_trained() {
    let kernels = kernels([2, 3, 50, 96], |g, x| {
        let gamma = g.param("gamma", f32([96]));
        (g.add(g.tanh(x), g.layer_norm(x, gamma, None, 1e-5)), vec![x])
    });
    assert_eq!(count(&kernels, "norm_grad"), 1, "{kernels:?}");
    assert_eq!(count(&kernels, "reduce"), 0, "{kernels:?}");
}

#[test]
fn of_a_batch_norm() {
    let kernels = kernels([4, 6, 10, 10], |g, x| {
        let [gamma, beta] = ["gamma", "beta"].map(|name| g.param(name, f32([6])));
        let [mean, variance] = ["mean", "variance"].map(|name| g.state(name, f32([6])));
        let op = BatchNormTraining::default();
        (g.batch_norm_training(x, gamma, beta, mean, variance, op), vec![x, gamma, beta])
    });
    assert_eq!(count(&kernels, "norm_sums_rows"), 1, "{kernels:?}");
}
