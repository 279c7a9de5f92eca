//! Outputs against the evaluator's, element by element, within the op's own tolerance.

use pumice_cpu_ref::Array;
use pumice_cpu_ref::bounds::{Bound, output_bounds};
use pumice_cpu_ref::graph::{EvalOptions, Evaluation};
use pumice_ir::{Graph, Sample};
use pumice_types::{Bindings, Tensor};

/// What the evaluator says of one sample: with subnormal operands kept, and flushed as devices may.
pub struct Expected {
    kept: Vec<Evaluation>,
    flushed: Vec<Evaluation>,
    bounds: Vec<Vec<Bound>>,
}

impl Expected {
    /// Evaluates a sample.
    pub fn of(sample: &Sample, graph: &Graph, bindings: &Bindings) -> Result<Expected, String> {
        let run = |flush_subnormals| {
            let options = EvalOptions { keep_all: true, flush_subnormals };
            pumice_cpu_ref::sample::evaluate(sample, graph, options).map_err(|e| e.to_string())
        };
        let (kept, flushed) = (run(false)?, run(true)?);
        let bounds = kept
            .iter()
            .map(|e| output_bounds(graph, e, bindings).map_err(|e| e.to_string()))
            .collect::<Result<_, _>>()?;
        Ok(Expected { kept, flushed, bounds })
    }

    /// Whether the evaluator reports a status event in a run.
    pub fn has_status(&self, run: usize) -> bool {
        !self.kept[run].status.is_empty()
    }

    /// Compares one output of one run; `Err` describes the first element that is not close.
    pub fn check(&self, run: usize, output: usize, got: &Tensor) -> Result<(), String> {
        let (want, alternative) = (&self.kept[run].outputs[output], &self.flushed[run].outputs[output]);
        if got.dtype() != want.dtype || got.shape() != want.shape {
            return Err(format!("is {}{:?}, expected {}{:?}", got.dtype(), got.shape(), want.dtype, want.shape));
        }
        let got = Array::from_tensor(got);
        let bound = &self.bounds[run][output];
        let wrong: Vec<usize> = (0..want.len())
            .filter(|&i| !bound.accepts(want, &got, i) && !bound.accepts(alternative, &got, i))
            .collect();
        let Some(&i) = wrong.first() else { return Ok(()) };
        let (w, g) = (want.to_f64()[i], got.to_f64()[i]);
        Err(format!("{} of {} wrong, first at {i}: {g:e}, expected {w:e} ({:?})", wrong.len(), want.len(), bound.tolerance))
    }
}
