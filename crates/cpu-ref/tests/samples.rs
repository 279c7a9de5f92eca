//! Every sample of every op builds, has a value, reports a status where it must, and comes close to itself.

use pumice_cpu_ref::bounds::output_bounds;
use pumice_cpu_ref::{EvalOptions, sample};
use pumice_ir::{Form, Op, Sample, verify};
use std::collections::BTreeSet;

fn samples(op: &str) -> Vec<Sample> {
    Op::samples(op)
}

#[test]
fn every_sample_builds_and_is_named_once() {
    let mut total = 0;
    let mut wrong = Vec::new();
    for op in Op::NAMES {
        let mut labels = BTreeSet::new();
        for sample in samples(op) {
            total += 1;
            match &sample.graph {
                Err(e) => wrong.push(format!("{op}: {}: {e}", sample.label)),
                Ok(graph) => {
                    if let Err(errors) = verify(graph, Form::Source) {
                        wrong.push(format!("{op}: {}: {errors:?}", sample.label));
                    }
                }
            }
            if !labels.insert(sample.label.clone()) {
                wrong.push(format!("{op}: two samples are called `{}`", sample.label));
            }
        }
        if labels.is_empty() && *op != "fused" {
            wrong.push(format!("{op} has no samples"));
        }
    }
    assert!(wrong.is_empty(), "{} defects:\n{}", wrong.len(), wrong.join("\n"));
    println!("{total} samples of {} ops", Op::NAMES.len());
    assert!(total >= 3000, "{total} samples");
}

/// Evaluates the samples of every `step`-th op from `first` on.
fn evaluate_every(first: usize, step: usize) {
    let mut wrong = Vec::new();
    for op in Op::NAMES.iter().skip(first).step_by(step) {
        for sample in samples(op) {
            let Ok(graph) = &sample.graph else { continue };
            let options = EvalOptions { keep_all: true, flush_subnormals: false };
            let runs = match sample::evaluate(&sample, graph, options) {
                Ok(runs) => runs,
                Err(e) => {
                    wrong.push(format!("{op}: {}: {e}", sample.label));
                    continue;
                }
            };
            let status = runs.iter().any(|r| !r.status.is_empty());
            if status != sample.status {
                wrong.push(format!("{op}: {}: status {status}, expected {}", sample.label, sample.status));
            }
            let bindings = sample::bindings(&sample, graph);
            for run in &runs {
                let bounds = match output_bounds(graph, run, &bindings) {
                    Ok(bounds) => bounds,
                    Err(e) => {
                        wrong.push(format!("{op}: {}: {e}", sample.label));
                        continue;
                    }
                };
                for (output, bound) in run.outputs.iter().zip(bounds) {
                    let sums = !bound.magnitude.is_empty() && bound.magnitude.len() != output.len();
                    if sums || (0..output.len()).any(|i| !bound.accepts(output, output, i)) {
                        wrong.push(format!("{op}: {}: a result is not close to itself", sample.label));
                        break;
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} defects:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! parts {
    ($($name:ident $first:literal),*) => {$(
        #[test]
        fn $name() {
            evaluate_every($first, 4);
        }
    )*};
}
parts!(every_sample_has_a_value_1 0, every_sample_has_a_value_2 1, every_sample_has_a_value_3 2, every_sample_has_a_value_4 3);
