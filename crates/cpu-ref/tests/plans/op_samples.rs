//! Every sample of every op: compiled, checked, run on the interpreter, close to the evaluator.

use crate::harness::compare;
use pumice_compile::Options;
use pumice_ir::{Op, Sample};
use pumice_types::dim::EvalError;

/// Larger values are left out here: the interpreter adds nothing to what the evaluator shows of them.
const MOST_ELEMENTS: u64 = 1 << 18;

fn elements(sample: &Sample) -> u64 {
    let Ok(graph) = &sample.graph else { return 0 };
    let bindings = pumice_cpu_ref::sample::bindings(sample, graph);
    let of = |v: &pumice_ir::ValueInfo| -> Result<u64, EvalError> {
        v.ty.shape.iter().try_fold(1u64, |n, d| Ok(n.saturating_mul(d.eval_extent(&bindings)?)))
    };
    graph.values().map(|(_, v)| of(v).unwrap_or(u64::MAX)).max().unwrap_or(0)
}

/// Samples of every `step`-th op from `first` on.
fn run_every(first: usize, step: usize) {
    let (mut exact, mut close, mut large, mut unsupported) = (0, 0, 0, Vec::new());
    let mut wrong = Vec::new();
    for op in Op::NAMES.iter().skip(first).step_by(step) {
        for (i, sample) in Op::samples(op).iter().enumerate() {
            let Ok(graph) = &sample.graph else { continue };
            if elements(sample) > MOST_ELEMENTS {
                large += 1;
                continue;
            }
            match compare(sample, graph, &Options::default(), i as u64) {
                Ok(true) => exact += 1,
                Ok(false) => close += 1,
                Err(None) => unsupported.push(format!("{op}: {}", sample.label)),
                Err(Some(why)) => wrong.push(format!("{op}: {}: {why}", sample.label)),
            }
        }
    }
    println!("{exact} exact, {close} close, {large} too large, {} not lowered", unsupported.len());
    println!("not lowered:\n  {}", unsupported.join("\n  "));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! parts {
    ($($name:ident $first:literal),*) => {$(
        #[test]
        fn $name() {
            run_every($first, 4);
        }
    )*};
}
parts!(samples_on_the_interpreter_1 0, samples_on_the_interpreter_2 1, samples_on_the_interpreter_3 2, samples_on_the_interpreter_4 3);
