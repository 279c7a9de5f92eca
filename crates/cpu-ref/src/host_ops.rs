//! Host steps, prepared from their meaning: an FFT by a fast transform, an op of a user by its function, everything
//! else by the evaluator.
//!
//! In: a meaning as `.ir` text, then natural dense bytes. Out: natural dense bytes. Fast crates are allowed here and
//! never in the evaluator, which is what this is tested against.

mod custom;
mod fft;

use crate::array::Array;
use crate::custom::CustomOps;
use crate::graph::{EvalError, EvalOptions, actual_type, eval_graph_with};
use crate::meaning::ReadMeaning;
use pumice_ir::{Graph, ValueId};
use pumice_plan::{Meaning, Plan, Use};
use pumice_runtime::HostError;
use pumice_runtime::device::{HostOps, HostStep};
use pumice_types::{Bindings, Tensor};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Prepares host steps of every op but those of users, which [`CustomOps`] knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefHostOps;

impl HostOps for RefHostOps {
    fn prepare(&self, plan: &Plan, meaning: &Meaning, uses: &[Use]) -> Result<Box<dyn HostStep>, HostError> {
        CustomOps::new().prepare(plan, meaning, uses)
    }

    fn missing(&self, plan: &Plan) -> Vec<String> {
        CustomOps::new().missing(plan)
    }
}

/// Host steps of every op, with those of users that are registered here.
impl HostOps for CustomOps {
    fn prepare(&self, _: &Plan, meaning: &Meaning, _: &[Use]) -> Result<Box<dyn HostStep>, HostError> {
        let read = ReadMeaning::new(&meaning.graph).map_err(|e| e.to_string())?;
        let order = read.order(meaning).map_err(|e| e.to_string())?;
        if let Some((_, error)) = self.mistakes(&read.graph).into_iter().next() {
            return Err(error.into());
        }
        let read = match fft::FastFft::of(read) {
            Ok(fft) => return Ok(Box::new(fft)),
            Err(read) => read,
        };
        let (meaning, ops) = (read, self.clone());
        let direct = custom::Direct::of(&meaning.graph, self);
        Ok(Box::new(Evaluated { meaning, order, ops, direct }))
    }

    fn missing(&self, plan: &Plan) -> Vec<String> {
        let steps = plan.programs().flat_map(|program| &program.steps).filter(|step| step.is_host());
        // What cannot be read is refused where it is prepared.
        let graphs = steps.filter_map(|step| ReadMeaning::new(&step.meaning.graph).ok());
        let names: BTreeSet<String> = graphs.flat_map(|read| self.unknown(&read.graph)).collect();
        names.into_iter().collect()
    }
}

/// A host step that the evaluator runs, or a user's function.
struct Evaluated {
    meaning: ReadMeaning,
    /// Which of the bytes that are given each input of the graph is.
    order: Vec<usize>,
    ops: CustomOps,
    /// The call of a user's function, where the step is one.
    direct: Option<custom::Direct>,
}

impl HostStep for Evaluated {
    fn run(&self, bindings: &Bindings, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), HostError> {
        let (graph, bindings) = (&self.meaning.graph, &self.meaning.bindings(bindings));
        if inputs.len() != self.order.len() {
            return Err(format!("{} operands, {} given", self.order.len(), inputs.len()).into());
        }
        let inputs: Vec<&[u8]> = self.order.iter().map(|&i| inputs[i]).collect();
        let results = match &self.direct {
            Some(direct) => direct.call(graph, bindings, &inputs)?,
            None => self.evaluated(bindings, &inputs)?,
        };
        if results.len() != outputs.len() {
            return Err(format!("{} results, {} asked for", results.len(), outputs.len()).into());
        }
        for (tensor, out) in results.iter().zip(outputs) {
            if tensor.bytes().len() != out.len() {
                return Err(
                    format!("{} bytes of result, room for {}", tensor.bytes().len(), out.len()).into()
                );
            }
            out.copy_from_slice(tensor.bytes());
        }
        Ok(())
    }
}

impl Evaluated {
    fn evaluated(&self, bindings: &Bindings, inputs: &[&[u8]]) -> Result<Vec<Tensor>, HostError> {
        let graph = &self.meaning.graph;
        let arrays = arrays(graph, bindings, inputs)?;
        let names = graph.inputs();
        let leaf = |v: ValueId| names.iter().position(|n| *n == v).map(|i| Arc::clone(&arrays[i]));
        let result = eval_graph_with(graph, &leaf, bindings, EvalOptions::default(), &self.ops);
        let result = result.map_err(|e| match e {
            EvalError::Custom { error, .. } => HostError::Custom(error),
            other => HostError::Failed(other.to_string()),
        })?;
        let tensor = |a: &Arc<Array>| a.to_tensor().map_err(|e| e.to_string().into());
        result.outputs.iter().map(tensor).collect()
    }
}

/// The inputs of a graph from natural bytes.
fn arrays(graph: &Graph, bindings: &Bindings, inputs: &[&[u8]]) -> Result<Vec<Arc<Array>>, String> {
    let names = graph.inputs();
    if names.len() != inputs.len() {
        return Err(format!("{} operands, {} given", names.len(), inputs.len()));
    }
    let array = |(&v, bytes): (&ValueId, &&[u8])| {
        let (dtype, shape) = actual_type(graph, v, bindings).map_err(|e| e.to_string())?;
        let expected = pumice_types::tensor::byte_count(dtype, &shape).map_err(|e| e.to_string())?;
        if expected != bytes.len() as u64 {
            return Err(format!("{expected} bytes expected, {} given", bytes.len()));
        }
        Ok(Arc::new(Array::from_natural(dtype, &shape, bytes)))
    };
    names.iter().zip(inputs).map(array).collect()
}
