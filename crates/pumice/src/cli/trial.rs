//! One sample on one device: compile, run, compare every output of every run with the reference.
//!
//! In: a device, a target that it can run, a sample with its reference. Out: which kernels the plan runs, how far the
//! worst result lies from the reference, and what is wrong. Never here: which samples, or how results are shown.

use crate::device::Device;
use crate::error::Error;
use pumice_compile::Options;
use pumice_cpu_ref::{Array, Data, Reference, sample as data};
use pumice_ir::{Graph, Sample};
use pumice_plan::{CheckedPlan, Plan, StepKind};
use pumice_runtime::{Executable, Outputs, RuntimeError, Session};
use pumice_types::{Bindings, Target};
use std::collections::BTreeSet;

/// How a sample ended.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// `kernel.variant` of every dispatch of the plan.
    pub kernels: BTreeSet<String>,
    /// The largest |got − want| / max(1, |want|) over elements that are finite in both; 0 where every bit agrees.
    pub worst: f64,
    /// What is wrong, if anything is.
    pub wrong: Option<String>,
}

/// Elements of the largest value of a sample.
pub(super) fn largest(graph: &Graph, sample: &Sample) -> u64 {
    data::largest(graph, &data::bindings(sample, graph))
}

/// The plan of a sample for a target.
pub(super) fn plan(graph: &Graph, target: &Target) -> Result<CheckedPlan, Error> {
    crate::plan(graph, target, &Options::default())
}

/// `kernel.variant [constants]` of every dispatch of a plan, in order: plans with the same list run the same code.
pub(super) fn code(plan: &Plan) -> Vec<String> {
    let steps = plan.programs().flat_map(|p| &p.steps);
    steps
        .filter_map(|step| match &step.kind {
            StepKind::Dispatch { call, .. } => {
                Some(format!("{}.{} {:?}", call.kernel, call.variant, call.spec))
            }
            _ => None,
        })
        .collect()
}

/// `kernel.variant` of an entry of [`code`].
pub(super) fn variant_of(code: String) -> String {
    code.split(' ').next().unwrap_or_default().to_owned()
}

/// Runs a planned sample and compares.
pub(super) fn run(
    device: &Device,
    plan: CheckedPlan,
    sample: &Sample,
    graph: &Graph,
    reference: &Reference,
) -> Trial {
    let mut trial = Trial { kernels: code(&plan).into_iter().map(variant_of).collect(), ..Trial::default() };
    trial.wrong = compare(device, plan, sample, graph, reference, &mut trial.worst).err();
    trial
}

fn compare(
    device: &Device,
    plan: CheckedPlan,
    sample: &Sample,
    graph: &Graph,
    reference: &Reference,
    worst: &mut f64,
) -> Result<(), String> {
    let bindings = data::bindings(sample, graph);
    let mut session = session(device, plan, sample, graph, &bindings)?;
    for run in 0..sample.runs {
        data::execute(&mut session, sample, graph, &bindings, run).map_err(|e| format!("run {run}: {e}"))?;
        let at = run as usize;
        let reported = !session.status().is_clean();
        let expected = reference.run(at).is_some_and(|e| !e.status.is_empty());
        if reported != expected {
            return Err(format!("run {run}: status reported: {reported}, by the reference: {expected}"));
        }
        let outputs = session.outputs().map_err(text)?;
        compare_outputs(at, &outputs, graph, reference, worst)?;
    }
    Ok(())
}

/// Compares the outputs of run `at` with those of the reference.
fn compare_outputs(
    at: usize,
    outputs: &Outputs,
    graph: &Graph,
    reference: &Reference,
    worst: &mut f64,
) -> Result<(), String> {
    for (i, output) in graph.outputs().iter().enumerate() {
        let got = Array::from_tensor(outputs.at(i).map_err(text)?);
        if let Some(want) = reference.run(at).and_then(|e| e.outputs.get(i)) {
            *worst = worst.max(distance(want, &got));
        }
        if let Some(difference) = reference.difference(at, i, &got) {
            return Err(format!("run {at}, output {}: {difference}", output.name));
        }
    }
    Ok(())
}

/// A session with params, scalars and symbols as the sample wants them.
fn session(
    device: &Device,
    plan: CheckedPlan,
    sample: &Sample,
    graph: &Graph,
    bindings: &Bindings,
) -> Result<Session, String> {
    let exe = Executable::new(device.shared(), plan, device.host_ops()).map_err(text)?;
    data::session(&exe, sample, graph, bindings).map_err(|e| e.to_string())
}

fn text(error: RuntimeError) -> String {
    error.to_string()
}

/// The largest |got − want| / max(1, |want|) over floats that are finite in both.
fn distance(want: &Array, got: &Array) -> f64 {
    let (Data::Float(want), Data::Float(got)) = (&want.data, &got.data) else { return 0.0 };
    let finite = want.iter().zip(got).filter(|(w, g)| w.is_finite() && g.is_finite());
    finite.map(|(w, g)| (g - w).abs() / w.abs().max(1.0)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::DType;

    #[test]
    fn distance_is_relative_above_one_and_leaves_out_what_is_not_finite() {
        let array = |values: &[f64]| Array::floats(DType::F32, &[values.len() as u64], values.to_vec());
        let want = array(&[0.0, 100.0, f64::NAN, f64::INFINITY]);
        assert_eq!(distance(&want, &array(&[0.5, 150.0, 1.0, 2.0])), 0.5);
        assert_eq!(distance(&want, &want), 0.0);
    }
}
