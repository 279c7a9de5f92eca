//! Mutants of compiled plans: spans, versions and meanings that were changed are refused, or the interpreter gives the
//! same results; words of calls that were changed are refused or touch nothing else.
//!
//! A plan from a file ran unchecked in release builds: one argument that was altered gave a double free.

use crate::harness::{plan, session};
use pumice_compile::Options;
use pumice_cpu_ref::sample as data;
use pumice_ir::{Graph, Op, Sample};
use pumice_plan::check::{mutate, words};
use pumice_plan::{CheckedPlan, Plan};
use pumice_runtime::RuntimeError;
use pumice_types::Tensor;

/// Larger samples show nothing more.
const MOST_ELEMENTS: u64 = 1 << 10;

/// Samples that are compiled for the mutants, with their plans.
fn corpus(each: usize) -> Vec<(String, Sample, Plan)> {
    let mut all = Vec::new();
    for op in Op::NAMES {
        for sample in Op::samples(op).into_iter().step_by(each) {
            let Ok(graph) = sample.graph.as_ref() else { continue };
            if data::largest(graph, &data::bindings(&sample, graph)) > MOST_ELEMENTS {
                continue;
            }
            let Ok(checked) = plan(graph, &Options::default().stream_from(0)) else { continue };
            all.push((format!("{op}: {}", sample.label), sample, checked.into_plan()));
        }
    }
    all
}

/// Why a plan that was taken gives nothing.
#[derive(Debug)]
enum Failure {
    /// It is wrong for the extents of this run alone, which is said before anything runs.
    AtBinding,
    Other(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure::Other(why)
    }
}

fn outputs(plan: CheckedPlan, sample: &Sample, graph: &Graph) -> Result<Vec<Tensor>, Failure> {
    let bindings = data::bindings(sample, graph);
    let mut session = session(plan, sample, graph, &bindings, 1)?;
    let mut all = Vec::new();
    for run in 0..sample.runs {
        data::execute(&mut session, sample, graph, &bindings, run).map_err(|e| match e {
            data::SessionError::Runtime(RuntimeError::Binding(_)) => Failure::AtBinding,
            e => Failure::Other(e.to_string()),
        })?;
        all.extend(session.outputs().map_err(|e| e.to_string())?.into_tensors());
    }
    Ok(all)
}

/// What became of mutants.
#[derive(Default)]
struct Tally {
    refused: usize,
    at_binding: usize,
    equal: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn judge(
        &mut self,
        name: &str,
        mutant: Plan,
        what: &dyn std::fmt::Display,
        sample: &Sample,
        base: &[Tensor],
    ) {
        let Ok(graph) = sample.graph.as_ref() else { return };
        match CheckedPlan::new(mutant) {
            Err(_) => self.refused += 1,
            Ok(plan) => match outputs(plan, sample, graph) {
                Ok(all) if all.iter().map(Tensor::bytes).eq(base.iter().map(Tensor::bytes)) => {
                    self.equal += 1
                }
                Ok(_) => self.wrong.push(format!("{name}: {what}: other results")),
                Err(Failure::AtBinding) => self.at_binding += 1,
                Err(Failure::Other(e)) => self.wrong.push(format!("{name}: {what}: {e}")),
            },
        }
    }
}

fn spans_and_versions(each: usize, most: usize) -> Tally {
    let mut tally = Tally::default();
    for (name, sample, plan) in corpus(each) {
        let graph = sample.graph.as_ref().expect("compiled");
        let sound = CheckedPlan::new(plan.clone()).expect("checked before");
        let base = outputs(sound, &sample, graph).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let mut mutations = mutate::mutations(&plan);
        // A step that is gone, and with it the only write of a state, is a plan of another program.
        mutations.retain(|m| !matches!(m.change, mutate::Change::DropStep { .. }));
        let step = mutations.len().div_ceil(most).max(1);
        for mutation in mutations.iter().step_by(step) {
            tally.judge(&name, mutation.apply(&plan), mutation, &sample, &base);
        }
    }
    tally
}

fn report(tally: &Tally, least: usize) {
    let Tally { refused, at_binding, equal, .. } = tally;
    println!("{refused} refused, {at_binding} at a binding, {equal} accepted with equal results");
    assert!(*at_binding < refused / 100, "the checker leaves {at_binding} to the run");
    let shown = &tally.wrong[..tally.wrong.len().min(40)];
    assert!(tally.wrong.is_empty(), "{} wrong:\n{}", tally.wrong.len(), shown.join("\n"));
    assert!(tally.refused + tally.equal >= least, "{} mutants", tally.refused + tally.equal);
}

#[test]
fn spans_versions_and_meanings_are_refused_or_equal() {
    report(&spans_and_versions(4, 60), 4_000);
}

#[test]
#[ignore = "long: a hundred thousand mutants"]
fn a_hundred_thousand_mutants_are_refused_or_equal() {
    report(&spans_and_versions(1, 1_000), 100_000);
}

/// Most mutants of words that steer are refused; what passes (slots that are not bound, strides of axes of one element)
/// is run on a device by `pumice-tests`.
#[test]
fn words_that_steer_are_refused_where_they_matter() {
    let (mut refused, mut passed, mut kernels) = (0usize, Vec::new(), std::collections::BTreeMap::new());
    for (name, _, plan) in corpus(3) {
        let all = words::words(&plan);
        let steering: Vec<_> = all.iter().filter(|m| m.steers).collect();
        for mutation in steering.iter().step_by(steering.len().div_ceil(40).max(1)) {
            match CheckedPlan::new(mutation.apply(&plan)) {
                Err(_) => refused += 1,
                Ok(_) => {
                    let text = format!("{name}: {mutation}");
                    *kernels.entry(mutation.kernel(&plan)).or_insert(0usize) += 1;
                    passed.push(text);
                }
            }
        }
    }
    println!("{refused} refused, {} passed: {kernels:#?}", passed.len());
    passed.iter().take(60).for_each(|p| println!("{p}"));
    assert!(refused > 10_000, "{refused}");
    assert!(passed.len() < refused, "{} pass, {refused} do not", passed.len());
}

/// What GPUs get has kernels of its own: their plans are sound, too.
#[test]
fn samples_planned_for_a_gpu_are_sound() {
    let (mut sound, mut wrong) = (0, Vec::new());
    for op in Op::NAMES {
        for sample in Op::samples(op) {
            let Ok(graph) = sample.graph.as_ref() else { continue };
            match crate::harness::plan_for(graph, &pumice_types::Target::h200(), &Options::default()) {
                Ok(_) => sound += 1,
                Err(Some(e)) if e.starts_with("check") => wrong.push(format!("{op}: {}: {e}", sample.label)),
                Err(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {sound}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(sound > 1_000, "{sound}");
}
