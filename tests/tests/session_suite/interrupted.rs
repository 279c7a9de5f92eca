//! A run that a host step ends early: a typed error that names the step, nothing that looks like a result, and a
//! session that runs again once it is given what it lost.

use crate::common::*;
use pumice_cpu_ref::RefHostOps;
use pumice_ir::ops::fft::Fft;
use pumice_ir::{Graph, GraphBuilder, f32, sym};
use pumice_plan::{CheckedPlan, Meaning, Plan, Use};
use pumice_runtime::{
    DeviceError, Executable, HostError, HostOps, HostStep, RunOptions, RuntimeError, ScalarValue,
};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{Bindings, DimExpr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

on_every_device!(a_host_step_fails, in_the_middle_of_several_replays, a_host_step_that_nobody_prepares);

/// The real host steps, of which each call beyond the number left fails.
struct Tired {
    left: Arc<AtomicI64>,
}

struct TiredStep {
    step: Box<dyn HostStep>,
    left: Arc<AtomicI64>,
}

impl HostOps for Tired {
    fn prepare(&self, plan: &Plan, meaning: &Meaning, uses: &[Use]) -> Result<Box<dyn HostStep>, HostError> {
        let step = RefHostOps.prepare(plan, meaning, uses)?;
        Ok(Box::new(TiredStep { step, left: Arc::clone(&self.left) }))
    }
}

impl HostStep for TiredStep {
    fn run(&self, bindings: &Bindings, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), HostError> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            1.. => self.step.run(bindings, inputs, outputs),
            _ => Err("out of breath".into()),
        }
    }
}

/// y = |spectrum of (x + bias)|² added up, which is Σ(x + bias)²·4; a scalar counts runs, a state adds x up.
fn graph() -> Graph {
    let g = GraphBuilder::new("tired");
    let (x, bias) =
        (g.input("x", f32([1.into(), sym("n", 2..=4), 1.into()])), g.input("bias", f32([4u64, 1])));
    let at = g.scalar_advancing("at", 0, 100, 0, DimExpr::constant(1));
    let moved = g.add(x, bias);
    let spectrum = g.named("spectrum").fft(g.narrow(moved, 1, 0, g.dim_of(x, 1)), Fft::default());
    let power = g.reduce_sum(g.square(spectrum), &[0, 1, 2], false);
    g.output("y", power);
    g.output("at", g.add(at, at));
    let s = g.state("s", f32([1u64, 4, 1]));
    let sum = g.add(g.state_read(s), x);
    g.state_write(s, sum);
    g.output("sum", sum);
    g.build().expect("sound")
}

fn plain(x: &[f32], bias: &[f32]) -> f32 {
    // Parseval: Σ|X|² = n·Σ|x|².
    4.0 * zip(x, bias, |x, b| (x + b) * (x + b)).iter().sum::<f32>()
}

fn tired(fixture: &Fixture) -> (Executable, Arc<AtomicI64>) {
    let left = Arc::new(AtomicI64::new(0));
    let plan = fixture.plan(&graph(), &Default::default());
    let host = Arc::new(Tired { left: Arc::clone(&left) });
    (
        Executable::new(fixture.device.clone(), CheckedPlan::new(plan).expect("sound"), host).expect("loads"),
        left,
    )
}

pub fn a_host_step_fails(fixture: &Fixture) {
    let (exe, left) = tired(fixture);
    let mut s = exe.session().expect("a session");
    let (x, bias) = (tensor(&wave(4, 1), &[1, 4, 1]), tensor(&wave(4, 2), &[4, 1]));
    s.bind_input("bias", bias.view()).expect("bound");
    left.store(1, Ordering::Relaxed);
    let y = run(&mut s, &x).expect("one is left");
    assert_close(&out(&y, "y"), &[plain(&floats(&x), &floats(&bias))], 1e-5, "y");
    refused!(
        run(&mut s, &x),
        RuntimeError::Device(DeviceError::Host { origin, message })
            if origin == "spectrum" && message == "out of breath",
        "spectrum",
    );
    assert_eq!(s.scalar("at").expect("there"), ScalarValue::Int(1), "the run that failed does not count");
    refused!(s.outputs(), RuntimeError::NoResults, "run");
    assert!(s.status().is_clean());
    // Its inputs are gone, and that is said.
    let keep = RunOptions::default().keep(true);
    refused!(s.run_with(&[], &keep), RuntimeError::InputNotKept { names } if names == &["x", "bias"], "`x`", "`bias`");
    refused!(run(&mut s, &x), RuntimeError::InputNotKept { names } if names == &["bias"], "bind_input");
    s.bind_input("bias", bias.view()).expect("bound again");
    s.state("s").expect("there").write_f32(&[8.0; 4]).expect("what it was is unspecified");
    left.store(2, Ordering::Relaxed);
    let y = run(&mut s, &x).expect("runs again");
    assert_close(&out(&y, "y"), &[plain(&floats(&x), &floats(&bias))], 1e-5, "y");
    assert_eq!(out(&y, "sum"), map(&floats(&x), |v| v + 8.0));
    let mut fork = s.fork().expect("a fork");
    let y = run(&mut fork, &x).expect("its bound input came along");
    assert_eq!(out(&y, "sum"), map(&floats(&x), |v| 2.0 * v + 8.0));
}

fn in_the_middle_of_several_replays(fixture: &Fixture) {
    let (exe, left) = tired(fixture);
    let mut s = exe.session().expect("a session");
    let (x, bias) = (tensor(&wave(4, 1), &[1, 4, 1]), tensor(&wave(4, 2), &[4, 1]));
    let given = [("x", x.view()), ("bias", bias.view())];
    left.store(3, Ordering::Relaxed);
    refused!(
        s.run_steps(&given, 5),
        RuntimeError::Device(DeviceError::Host { .. }),
        "spectrum",
        "out of breath"
    );
    assert_eq!(s.scalar("at").expect("there"), ScalarValue::Int(3), "three replays did end");
    refused!(s.output("y"), RuntimeError::NoResults, "run");
    s.set_scalar("at", 0).expect("in range");
    s.state("s").expect("there").reset().expect("zeros");
    left.store(5, Ordering::Relaxed);
    let y = s.run_steps(&given, 5).expect("all five");
    assert_eq!(out(&y, "sum"), map(&floats(&x), |v| 5.0 * v));
    assert_eq!(ints(y.get("at").expect("there")), [8]);
}

/// Nobody knows the op: loading says which, and nothing is left behind.
fn a_host_step_that_nobody_prepares(fixture: &Fixture) {
    struct Nobody;
    impl HostOps for Nobody {
        fn prepare(&self, _: &Plan, meaning: &Meaning, _: &[Use]) -> Result<Box<dyn HostStep>, HostError> {
            Err(format!("no such op among {}", meaning.graph.text.len()).into())
        }
    }
    let plan = fixture.plan(&graph(), &Default::default());
    let refusal =
        Executable::new(fixture.device.clone(), CheckedPlan::new(plan).expect("sound"), Arc::new(Nobody));
    refused!(refusal, RuntimeError::Device(DeviceError::Host { origin, .. }) if origin == "spectrum", "no such op");
    let (exe, left) = tired(fixture);
    left.store(1, Ordering::Relaxed);
    let x = tensor(&wave(4, 3), &[1, 4, 1]);
    let bias = tensor(&wave(4, 4), &[4, 1]);
    let y = exe.session().expect("a session").run(&[("x", x.view()), ("bias", bias.view())]).expect("runs");
    assert_eq!(out(&y, "sum"), floats(&x));
}
