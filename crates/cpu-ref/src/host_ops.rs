//! Host steps, prepared from their meaning: an FFT by a fast transform, everything else by the evaluator.
//!
//! In: a meaning as `.ir` text, then natural dense bytes. Out: natural dense bytes. Fast crates are allowed here and
//! never in the evaluator, which is what this is tested against.

mod fft;

use crate::array::Array;
use crate::graph::{EvalOptions, actual_type, eval_graph};
use crate::meaning::ReadMeaning;
use pumice_ir::{Graph, ValueId};
use pumice_plan::{Meaning, Plan, Use};
use pumice_runtime::device::{HostOps, HostStep};
use pumice_types::Bindings;
use std::sync::Arc;

/// Prepares host steps of every op.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefHostOps;

impl HostOps for RefHostOps {
    fn prepare(&self, _: &Plan, meaning: &Meaning, _: &[Use]) -> Result<Box<dyn HostStep>, String> {
        let read = ReadMeaning::new(&meaning.graph).map_err(|e| e.to_string())?;
        let order = read.order(meaning).map_err(|e| e.to_string())?;
        match fft::FastFft::of(read) {
            Ok(fft) => Ok(Box::new(fft)),
            Err(meaning) => Ok(Box::new(Evaluated { meaning, order })),
        }
    }
}

/// A host step that the evaluator runs.
struct Evaluated {
    meaning: ReadMeaning,
    /// Which of the bytes that are given each input of the graph is.
    order: Vec<usize>,
}

impl HostStep for Evaluated {
    fn run(&self, bindings: &Bindings, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), String> {
        let (graph, bindings) = (&self.meaning.graph, &self.meaning.bindings(bindings));
        if inputs.len() != self.order.len() {
            return Err(format!("{} operands, {} given", self.order.len(), inputs.len()));
        }
        let inputs: Vec<&[u8]> = self.order.iter().map(|&i| inputs[i]).collect();
        let arrays = arrays(graph, bindings, &inputs)?;
        let names = graph.inputs();
        let leaf = |v: ValueId| names.iter().position(|n| *n == v).map(|i| Arc::clone(&arrays[i]));
        let result = eval_graph(graph, &leaf, bindings, EvalOptions::default()).map_err(|e| e.to_string())?;
        if result.outputs.len() != outputs.len() {
            return Err(format!("{} results, {} asked for", result.outputs.len(), outputs.len()));
        }
        for (array, out) in result.outputs.iter().zip(outputs) {
            let tensor = array.to_tensor().map_err(|e| e.to_string())?;
            if tensor.bytes().len() != out.len() {
                return Err(format!("{} bytes of result, room for {}", tensor.bytes().len(), out.len()));
            }
            out.copy_from_slice(tensor.bytes());
        }
        Ok(())
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
