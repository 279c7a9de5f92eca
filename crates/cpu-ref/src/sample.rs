//! Data of samples, the same on every runner, and their evaluation.
//!
//! In: a [`Sample`]. Out: tensors for its inputs and params, bindings, and an [`Evaluation`] per run. Runners take
//! their data from here, so that a difference is never one of data.

use crate::array::Array;
use crate::graph::{EvalError, EvalOptions, Evaluation, actual_type};
use crate::session::RefSession;
use pumice_ir::{Graph, Sample, ValueId, ValueInfo};
use pumice_runtime::{Executable, OnStatus, RunOptions, RuntimeError, Session};
use pumice_types::{Bindings, Tensor, TensorView};
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

/// Elements of the largest value of a graph.
pub fn largest(graph: &Graph, bindings: &Bindings) -> u64 {
    let count = |v: &ValueInfo| {
        v.ty.shape.iter().map(|d| d.eval_extent(bindings).unwrap_or(u64::MAX)).fold(1u64, u64::saturating_mul)
    };
    graph.values().map(|(_, v)| count(v)).max().unwrap_or(0)
}

/// Why there is no session over a sample, or no run of it.
#[derive(thiserror::Error)]
pub enum SessionError {
    /// A param or input has no data.
    #[error(transparent)]
    Data(#[from] EvalError),
    /// The runtime refused something.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

pumice_types::debug_as_display!(SessionError);

/// A session over an executable of a sample's graph with the sample's params, given states, scalars and symbols in
/// place.
pub fn session(
    exe: &Executable,
    sample: &Sample,
    graph: &Graph,
    bindings: &Bindings,
) -> Result<Session, SessionError> {
    for p in graph.params() {
        let tensor = leaf_tensor(sample, graph, p, bindings, 0)?;
        exe.set_param_view(&graph.value(p).name, tensor.view())?;
    }
    let mut session = exe.session()?;
    let missing: Vec<String> = session.missing_states();
    for name in &missing {
        let leaf = graph.find(name).ok_or_else(|| EvalError::MissingLeaf(name.clone()))?;
        let tensor = leaf_tensor(sample, graph, leaf, bindings, 0)?;
        session.state(name)?.write(tensor.view())?;
    }
    for (name, value) in &sample.scalars {
        session.set_scalar(name, *value)?;
    }
    for (id, symbol) in graph.symbols().iter().filter(|(_, s)| !s.found) {
        session.bind_symbol(&symbol.name, bindings.symbol(id).unwrap_or(symbol.max))?;
    }
    Ok(session)
}

/// Runs a sample once more in its session, with the inputs of run `run`; what ops report is left in the session's
/// status.
pub fn execute(
    session: &mut Session,
    sample: &Sample,
    graph: &Graph,
    bindings: &Bindings,
    run: u32,
) -> Result<(), SessionError> {
    let mut inputs: Vec<(&str, Tensor)> = Vec::new();
    for v in graph.inputs() {
        inputs.push((&graph.value(v).name, leaf_tensor(sample, graph, v, bindings, run)?));
    }
    let views: Vec<(&str, TensorView<'_>)> = inputs.iter().map(|(n, t)| (*n, t.view())).collect();
    let options = RunOptions::default().on_status(OnStatus::Report);
    Ok(session.execute(&views, &options)?)
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
    let (_, shape) = actual_type(graph, leaf, bindings)?;
    let tensor = sample.fill_of(name).tensor(graph.ty(leaf).encoding, &shape, seed(name, run));
    tensor.ok_or_else(|| EvalError::TooLarge(name.to_string()))
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
