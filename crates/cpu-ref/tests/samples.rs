//! Every sample of every op builds, has a value, reports a status where it must, and comes close to itself.

use pumice_cpu_ref::{Array, Reference};
use pumice_ir::{Form, Op, verify};
use std::collections::BTreeSet;

#[test]
fn every_sample_builds_and_is_named_once() {
    let mut total = 0;
    let mut wrong = Vec::new();
    for op in Op::NAMES {
        let mut labels = BTreeSet::new();
        for sample in Op::samples(op) {
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
        for sample in Op::samples(op) {
            let Ok(graph) = &sample.graph else { continue };
            let reference = match Reference::new(&sample, graph) {
                Ok(reference) => reference,
                Err(e) => {
                    wrong.push(format!("{op}: {}: {e}", sample.label));
                    continue;
                }
            };
            let status = reference.has_status();
            if status != sample.status {
                wrong.push(format!("{op}: {}: status {status}, expected {}", sample.label, sample.status));
            }
            for run in 0..sample.runs as usize {
                let outputs = reference.run(run).map_or(&[][..], |e| &e.outputs);
                let differences =
                    outputs.iter().enumerate().filter_map(|(i, y)| reference.difference(run, i, y));
                wrong
                    .extend(differences.map(|d| format!("{op}: {}: not close to itself: {d}", sample.label)));
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

/// A result that is a little off is seen, whatever the op: the largest element of every float result, moved by a
/// thousandth of itself (a hundredth for 16-bit floats, whose units are that large), is refused somewhere for every op
/// that computes.
#[test]
fn a_wrong_result_is_refused() {
    let mut blind = Vec::new();
    for op in Op::NAMES {
        let mut refused = false;
        let mut floats = false;
        for sample in Op::samples(op).into_iter().take(40) {
            let Ok(graph) = &sample.graph else { continue };
            let Ok(reference) = Reference::new(&sample, graph) else { continue };
            let Some(run) = reference.run(0) else { continue };
            for (output, want) in run.outputs.iter().enumerate().filter(|(_, w)| w.dtype.is_float()) {
                let finite = |v: &f64| v.is_finite() && v.abs() < 1e30;
                let largest =
                    want.as_floats().iter().copied().filter(finite).fold(0f64, |a, v| a.max(v.abs()));
                if largest < 1e-3 {
                    continue;
                }
                floats = true;
                let factor = if want.dtype.bits() == 32 { 1.001 } else { 1.02 };
                let moved = want.as_floats().iter().map(|v| if v.abs() == largest { v * factor } else { *v });
                let got = Array::floats(want.dtype, &want.shape, moved.collect());
                refused |= reference.difference(0, output, &got).is_some();
            }
        }
        if floats && !refused {
            blind.push(*op);
        }
    }
    assert!(blind.is_empty(), "no sample of {blind:?} sees a wrong result");
}
