//! Steps bind the inputs of what they mean by name: a list in another order means the same, and a name that the graph
//! of the meaning does not have ends the loading with an error that names the step.

use crate::common::*;
use pumice_compile::Options;
use pumice_cpu_ref::RefHostOps;
use pumice_ir::ops::fft::Fft;
use pumice_ir::{Graph, GraphBuilder, f32, sym};
use pumice_plan::{CheckedPlan, InputError, Plan, Step};
use pumice_runtime::{DeviceError, Executable, RuntimeError};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::TensorView;
use std::sync::Arc;

on_every_device!(inputs_stand_in_any_order, other_names_are_refused);

/// Nothing here may be exchanged: spectrum of (a·b − c).
fn graph() -> Graph {
    let g = GraphBuilder::new("named");
    let (a, b, c) = (
        g.input("a", f32([1u64, 2, 4])),
        g.input("b", f32([1u64, 4, 3])),
        g.input("c", f32([sym("n", 2..=3)])),
    );
    let product = g.named("product").matmul(a, b);
    let pairs = g.named("pairs").reshape(g.sub(product, c), &[1, 6, 1]);
    g.output("y", g.named("spectrum").fft(g.narrow(pairs, 1, 0, g.dim_of(c, 0) * 2), Fft::default()));
    g.build().expect("sound")
}

fn steps(plan: &mut Plan) -> impl Iterator<Item = &mut Step> {
    plan.runs.iter_mut().flat_map(|run| &mut run.program.steps)
}

fn load(fixture: &Fixture, plan: Plan) -> Result<Executable, RuntimeError> {
    let plan = CheckedPlan::new(plan).expect("the checker follows names as well");
    Executable::new(fixture.device.clone(), plan, Arc::new(RefHostOps))
}

/// Gives the inputs of a step's meaning, and their uses, other names than its text has.
fn rename(step: &mut Step) {
    let other = |name: &str| Arc::from(format!("{name}_other"));
    let graph = Arc::make_mut(&mut step.meaning.graph);
    graph.inputs = graph.inputs.iter().map(|name| other(name)).collect();
    step.meaning.inputs.iter_mut().for_each(|i| i.name = other(&i.name));
}

fn inputs_stand_in_any_order(fixture: &Fixture) {
    let (a, b, c) = (wave(8, 1), wave(12, 2), wave(3, 3));
    let run = |plan: Plan| {
        let mut session = load(fixture, plan).expect("loads").session().expect("a session");
        let given = [
            ("a", TensorView::f32(&a, [1, 2, 4])),
            ("b", TensorView::f32(&b, [1, 4, 3])),
            ("c", TensorView::f32(&c, [3])),
        ];
        session.run(&given).expect("runs").get("y").expect("there").bytes().to_vec()
    };
    let plan = fixture.plan(&graph(), &Options::default());
    let mut turned = plan.clone();
    let several = steps(&mut turned).filter(|s| s.meaning.inputs.len() > 1);
    let turned_steps = several.map(|s| s.meaning.inputs.reverse()).count();
    assert!(turned_steps > 0);
    assert_eq!(run(turned), run(plan));
}

fn other_names_are_refused(fixture: &Fixture) {
    let mut plan = fixture.plan(&graph(), &Options::default());
    rename(steps(&mut plan).find(|s| s.is_host()).expect("the transform"));
    refused!(
        load(fixture, plan),
        RuntimeError::Device(DeviceError::Host { origin, .. }) if origin == "spectrum",
        "has no input `i0_other`"
    );
    if fixture.is_vulkan() {
        return; // It computes what kernels do, and meanings of host steps alone.
    }
    let mut plan = fixture.plan(&graph(), &Options::default());
    let product = steps(&mut plan).find(|s| s.meaning.inputs.len() > 1).expect("the product");
    rename(product);
    let (origin, name) = (product.origin.clone(), Arc::clone(&product.meaning.inputs[0].name));
    refused!(
        load(fixture, plan),
        RuntimeError::Device(DeviceError::Input { step, error: InputError::Unknown(n) })
            if **step == *origin && *n == name,
        &*origin,
        &*name
    );
}
