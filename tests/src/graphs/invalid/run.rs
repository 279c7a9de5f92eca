//! What is done with a program that may be invalid: built, printed and read, compiled, checked, run on the interpreter
//! with operands that may be wrong.
//!
//! Out: how far it came. A panic, an error that calls itself a defect, or a plan with faults is a finding.

use super::{Catalogue, program};
use pumice_compile::{CompileError, OptOptions, Options};
use pumice_cpu_ref::{Interpreter, RefEval, RefHostOps, interp, sample as data};
use pumice_ir::sample::random as draw;
use pumice_ir::{Fill, Graph, Sample};
use pumice_plan::{CheckedPlan, Placement};
use pumice_runtime::{Device, Executable, OnStatus, RunOptions, RuntimeError};
use pumice_types::{Bindings, DType, Target, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Programs with a larger value are not run.
const MOST_ELEMENTS: u64 = 1 << 14;

/// How far a program came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The builder named its mistakes.
    NotBuilt,
    /// The compiler said why not.
    NotCompiled,
    /// Compiled, and too large to be interpreted.
    TooLarge,
    /// The runtime refused what was passed to it.
    NotRun,
    /// It ran.
    Ran,
}

/// Does everything with the program of a seed on the interpreter: how far it came, and what stopped it. The error is a
/// finding.
pub fn live(catalogue: &Catalogue, seed: u64) -> Result<(Outcome, String), String> {
    live_on(catalogue, seed, None)
}

/// As [`live`], on a device if one is given: what the interpreter refuses or reports, it must.
pub fn live_on(
    catalogue: &Catalogue,
    seed: u64,
    device: Option<&Arc<dyn Device>>,
) -> Result<(Outcome, String), String> {
    catch_unwind(AssertUnwindSafe(|| try_live(catalogue, seed, device))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("no message")))
    })
}

fn try_live(
    catalogue: &Catalogue,
    seed: u64,
    device: Option<&Arc<dyn Device>>,
) -> Result<(Outcome, String), String> {
    let graph = match program(catalogue, seed) {
        Ok(graph) => graph,
        Err(errors) if errors.0.is_empty() => return Err("refused without a mistake".into()),
        Err(errors) => {
            // Every mistake has words for it.
            let first = errors.0[0].to_string();
            return if first.is_empty() { Err("no message".into()) } else { Ok((Outcome::NotBuilt, first)) };
        }
    };
    let text = pumice_ir::text::print(&graph);
    match pumice_ir::text::read(&text) {
        Ok(read) if pumice_ir::text::print(&read) == text => {}
        Ok(_) => return Err("its text does not read as it was printed".into()),
        Err(e) => return Err(format!("its text is not read: {e}")),
    }
    let target = device.map_or_else(|| target(seed), |d| d.target().clone());
    let plan = match pumice_compile::compile(&graph, &target, &options(&graph, seed), &RefEval) {
        Ok(plan) => plan,
        Err(e @ (CompileError::Pass { .. } | CompileError::Defect(_))) => return Err(e.to_string()),
        Err(e) => return Ok((Outcome::NotCompiled, e.to_string())),
    };
    let plan = CheckedPlan::new(plan).map_err(|e| e.to_string())?;
    let bindings = bindings(&graph, seed);
    if crate::op_suite::largest(&graph, &bindings) > MOST_ELEMENTS || upper(&graph) > 64 * MOST_ELEMENTS {
        return Ok((Outcome::TooLarge, String::new()));
    }
    let ran = run(&graph, plan.clone(), &bindings, seed, device);
    if device.is_some() {
        // Refusals and reports of a run do not depend on the device.
        let other = run(&graph, plan, &bindings, seed, None);
        if ran.is_ok() != other.is_ok() {
            return Err(format!("{:?}, but interpreted {:?}", ran.err(), other.err()));
        }
    }
    match ran {
        Ok(()) => Ok((Outcome::Ran, String::new())),
        Err(e) if e.to_string().contains("defect") => Err(format!("run: {e}")),
        Err(e) => Ok((Outcome::NotRun, e.to_string())),
    }
}

fn target(seed: u64) -> Target {
    if seed.is_multiple_of(3) { Target::h200() } else { Target::lavapipe() }
}

fn options(graph: &Graph, seed: u64) -> Options {
    let placement = if seed.is_multiple_of(5) { Placement::Bump } else { Placement::Packed };
    let opt = if seed.is_multiple_of(7) { OptOptions::none() } else { OptOptions::default() };
    let specializations = match graph.symbols().iter().next() {
        Some((_, symbol)) if draw(seed, 1 << 31).is_multiple_of(4) => {
            let odd = draw(seed, 1 << 32).is_multiple_of(8);
            let cut = symbol.min + draw(seed, 1 << 33) % (symbol.max - symbol.min).max(1);
            vec![(symbol.name.clone(), if odd { vec![draw(seed, 1 << 33) % 4, 2] } else { vec![cut] })]
        }
        None if seed.is_multiple_of(64) => vec![("nothing".to_owned(), vec![1])],
        _ => vec![],
    };
    let stream_from = if seed.is_multiple_of(2) { 0 } else { u64::MAX };
    Options::default().placement(placement).opt(opt).specializations(specializations).stream_from(stream_from)
}

/// Mostly in range.
fn bindings(graph: &Graph, seed: u64) -> Bindings {
    let mut all = Bindings::new();
    for (i, (id, symbol)) in graph.symbols().iter().enumerate() {
        let span = (symbol.max - symbol.min).saturating_add(1).max(1);
        let inside = symbol.min + draw(seed, (1 << 34) + i as u64) % span.min(9);
        let step = symbol.multiple_of.max(1);
        let value = if inside.is_multiple_of(step) { inside } else { inside / step * step };
        all.bind(
            id,
            if draw(seed, (1 << 35) + i as u64).is_multiple_of(20) {
                symbol.max.saturating_add(1)
            } else {
                value
            },
        );
    }
    all
}

/// Elements of the largest value at the upper bounds: what the arena is sized by.
fn upper(graph: &Graph) -> u64 {
    let count = |shape: &[pumice_types::DimExpr]| {
        shape.iter().map(|d| d.upper(graph.symbols())).fold(1u64, u64::saturating_mul)
    };
    graph.values().map(|(_, v)| count(&v.ty.shape)).max().unwrap_or(0)
}

fn run(
    graph: &Graph,
    plan: CheckedPlan,
    bindings: &Bindings,
    seed: u64,
    device: Option<&Arc<dyn Device>>,
) -> Result<(), RuntimeError> {
    let options = interp::Options { seed, ..interp::Options::default() };
    let interpreter = || Arc::new(Interpreter::with(plan.target.clone(), options)) as Arc<dyn Device>;
    let device = device.cloned().unwrap_or_else(interpreter);
    let exe = Executable::new(device, plan, Arc::new(RefHostOps))?;
    let sample = Sample::graph("invalid", |_| {});
    // What steers is given at its extremes, too.
    let extremes = Fill::Ints(pumice_ir::ops::steering_samples::extremes(6).to_vec());
    let fill = [Fill::Special, Fill::Any, Fill::Range(-3, 6), extremes][(seed / 4 % 4) as usize].clone();
    let sample = graph.values().fold(sample, |s, (_, v)| s.fill(&v.name, fill.clone()));
    let careful = |what: u64| !draw(seed, (1 << 36) + what).is_multiple_of(30);
    for (i, p) in graph.params().into_iter().enumerate().filter(|(i, _)| careful(*i as u64)) {
        let Ok(tensor) = data::leaf_tensor(&sample, graph, p, bindings, 0) else { continue };
        let tensor = if careful(100 + i as u64) { tensor } else { odd(seed) };
        exe.set_param_view(&graph.value(p).name, tensor.view())?;
    }
    let mut session = exe.session()?;
    if draw(seed, 1 << 37).is_multiple_of(2) {
        for (id, symbol) in graph.symbols().iter().filter(|(_, s)| !s.found) {
            session.bind_symbol(&symbol.name, bindings.symbol(id).unwrap_or(0))?;
        }
    }
    for turn in 0..2 {
        let mut given = Vec::new();
        for (i, v) in graph.inputs().into_iter().enumerate().filter(|(i, _)| careful(200 + *i as u64)) {
            let Ok(tensor) = data::leaf_tensor(&sample, graph, v, bindings, turn) else { continue };
            let tensor = if careful(300 + i as u64) { tensor } else { odd(seed) };
            given.push((graph.value(v).name.clone(), tensor));
        }
        let views: Vec<_> = given.iter().map(|(n, t)| (&**n, t.view())).collect();
        let on_status = if seed.is_multiple_of(2) { OnStatus::Report } else { OnStatus::default() };
        session.run_with(&views, &RunOptions::default().on_status(on_status))?;
    }
    Ok(())
}

/// Something else than was asked for.
fn odd(seed: u64) -> Tensor {
    let shape: &[u64] = [&[][..], &[0], &[2, 3], &[1, 1, 1, 7]][(seed / 3 % 4) as usize];
    let dtype = [DType::F32, DType::I64, DType::Bool][(seed / 5 % 3) as usize];
    Fill::Any.tensor(dtype, shape, seed).expect("it is small")
}
