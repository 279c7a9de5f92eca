//! Samples compiled, checked and run on the interpreter, next to the evaluator.

use pumice_compile::{CompileError, Options};
use pumice_cpu_ref::{Array, Interpreter, RefEval, RefHostOps, Reference, interp, sample as data};
use pumice_ir::{Graph, Sample};
use pumice_plan::CheckedPlan;
use pumice_runtime::{Executable, RuntimeError, Session};
use pumice_types::{Bindings, Target, Tensor};
use std::sync::Arc;

/// The plan of a graph for lavapipe, checked. `Err(None)`: there is no lowering for one of its nodes.
pub fn plan(graph: &Graph, options: &Options) -> Result<CheckedPlan, Option<String>> {
    plan_for(graph, &Target::lavapipe(), options)
}

/// As [`plan`], for any target.
pub fn plan_for(graph: &Graph, target: &Target, options: &Options) -> Result<CheckedPlan, Option<String>> {
    let plan = match pumice_compile::compile(graph, target, options, &RefEval) {
        Ok(plan) => plan,
        Err(CompileError::Unsupported(_)) => return Err(None),
        Err(e) => return Err(Some(format!("compile: {e}"))),
    };
    let plan = CheckedPlan::new(plan).map_err(|e| Some(format!("check: {e}")))?;
    match plan.report().redundant_barriers() {
        redundant if options.barriers == Default::default() && redundant > 0 => {
            Err(Some(format!("{redundant} redundant barriers")))
        }
        _ => Ok(plan),
    }
}

/// A session over a plan with the sample's params, scalars and symbols.
pub fn session(
    plan: CheckedPlan,
    sample: &Sample,
    graph: &Graph,
    bindings: &Bindings,
    seed: u64,
) -> Result<Session, String> {
    let text = |e: RuntimeError| e.to_string();
    let poison = Some(if seed.is_multiple_of(2) { 0x7fc0_0bad } else { 0xffff_ffff });
    let device = Interpreter::with(plan.target.clone(), interp::Options { seed, poison });
    let exe = Executable::new(Arc::new(device), plan, Arc::new(RefHostOps)).map_err(text)?;
    data::session(&exe, sample, graph, bindings).map_err(|e| e.to_string())
}

/// The outputs of one run, and whether the status block reported.
pub fn run(
    session: &mut Session,
    sample: &Sample,
    graph: &Graph,
    bindings: &Bindings,
    run: u32,
) -> Result<(Vec<Tensor>, bool), String> {
    let failed = |e: &dyn std::error::Error| format!("run {run}: {e}");
    data::execute(session, sample, graph, bindings, run).map_err(|e| failed(&e))?;
    let outputs = session.outputs().map_err(|e| failed(&e))?;
    Ok((outputs.into_tensors(), !session.status().is_clean()))
}

/// All outputs of all runs of a sample under these options. `Err(None)` as in [`plan`].
pub fn outputs(
    sample: &Sample,
    graph: &Graph,
    options: &Options,
    seed: u64,
) -> Result<Vec<Vec<Tensor>>, Option<String>> {
    let bindings = data::bindings(sample, graph);
    let plan = plan(graph, options)?;
    let mut session = session(plan, sample, graph, &bindings, seed).map_err(Some)?;
    let each = (0..sample.runs)
        .map(|r| run(&mut session, sample, graph, &bindings, r).map(|(t, _)| t).map_err(Some));
    each.collect()
}

/// Compares a sample on the interpreter with the evaluator. `Ok(true)`: bit for bit, `Ok(false)`: close.
pub fn compare(sample: &Sample, graph: &Graph, options: &Options, seed: u64) -> Result<bool, Option<String>> {
    compare_planned(plan(graph, options)?, sample, graph, seed)
}

/// As [`compare`], with a plan of the sample's graph.
pub fn compare_planned(
    plan: CheckedPlan,
    sample: &Sample,
    graph: &Graph,
    seed: u64,
) -> Result<bool, Option<String>> {
    let bindings = data::bindings(sample, graph);
    let reference = Reference::new(sample, graph).map_err(|e| Some(e.to_string()))?;
    let mut session = session(plan, sample, graph, &bindings, seed).map_err(Some)?;
    let mut same = true;
    let mut reported = false;
    for r in 0..sample.runs {
        let (tensors, status) = run(&mut session, sample, graph, &bindings, r).map_err(Some)?;
        reported |= status;
        let expected = reference.run(r as usize).map_or(&[][..], |e| &e.outputs);
        for (i, (got, want)) in tensors.iter().zip(expected).enumerate() {
            let got_array = Array::from_tensor(got);
            if let Some(d) = reference.difference(r as usize, i, &got_array) {
                return Err(Some(format!("run {r}, output {i}: {d}")));
            }
            same &= want.to_tensor().is_ok_and(|w| w.bytes() == got.bytes());
        }
    }
    if reported != reference.has_status() {
        return Err(Some(format!(
            "status reported: {reported}, by the evaluator: {}",
            reference.has_status()
        )));
    }
    Ok(same)
}
