//! Data of samples, the same on every runner, and their evaluation.
//!
//! In: a [`Sample`]. Out: tensors for its inputs and params, bindings, and an [`Evaluation`] per run. Runners take
//! their data from here, so that a difference is never one of data.

use crate::array::Array;
use crate::graph::{EvalError, EvalOptions, Evaluation, actual_type};
use crate::session::RefSession;
use pumice_ir::{Graph, Sample, ValueId};
use pumice_types::{Bindings, Tensor};
use std::sync::Arc;

/// Bindings of a sample: what it says, else the maximum.
pub fn bindings(sample: &Sample, graph: &Graph) -> Bindings {
    let mut all = Bindings::new();
    for (id, symbol) in graph.symbols().iter() {
        let given = sample.bindings.iter().find(|(n, _)| *n == symbol.name).map(|(_, v)| *v);
        all.bind(id, given.unwrap_or(symbol.max));
    }
    all
}

/// The data of an input (for one run) or a param (of run 0) of that sample.
pub fn leaf_tensor(
    sample: &Sample,
    graph: &Graph,
    leaf: ValueId,
    bindings: &Bindings,
    run: u32,
) -> Result<Tensor, EvalError> {
    let name = &graph.value(leaf).name;
    let (dtype, shape) = actual_type(graph, leaf, bindings)?;
    let tensor = sample.fill_of(name).tensor(dtype, &shape, seed(name, run));
    tensor.ok_or_else(|| EvalError::TooLarge(name.clone()))
}

/// FNV-1a over the name, mixed with the run.
fn seed(name: &str, run: u32) -> u64 {
    let hash =
        name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    hash ^ u64::from(run).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Evaluates every run of a sample whose graph is there.
pub fn evaluate(sample: &Sample, graph: &Graph, options: EvalOptions) -> Result<Vec<Evaluation>, EvalError> {
    let bindings = bindings(sample, graph);
    let array = |name: &str, run: u32| {
        let leaf = graph.find(name)?;
        leaf_tensor(sample, graph, leaf, &bindings, run).ok().map(|t| Arc::new(Array::from_tensor(&t)))
    };
    let mut session = RefSession::new(graph, &|name| array(name, 0), options)?;
    for (name, value) in &sample.scalars {
        session.set_scalar(name, *value);
    }
    (0..sample.runs).map(|run| session.run(&|name| array(name, run), &bindings)).collect()
}
