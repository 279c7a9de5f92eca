//! What a runner's results of a sample are compared with.
//!
//! In: a sample. Out: per run and output the values, and whether another runner's are close. Subnormal f32 operands may
//! count as zeros on a device (OPS 1.3.4), element by element, so a result is close if it is close to the evaluation
//! with or without them.

use crate::array::{Array, Data};
use crate::bounds::{Bound, output_bounds};
use crate::graph::{EvalError, EvalOptions, Evaluation};
use crate::sample;
use pumice_ir::{Graph, Sample};
use std::fmt;

/// The evaluations of a sample and how close they must be reached.
pub struct Reference {
    plain: Vec<(Evaluation, Vec<Bound>)>,
    flushed: Vec<(Evaluation, Vec<Bound>)>,
}

/// The first element of an output that is not close.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// Another dtype or shape.
    Type {
        /// The reference's.
        want: String,
        /// The runner's.
        got: String,
    },
    /// An element.
    Element {
        /// Its linear position.
        index: usize,
        /// The reference's value.
        want: f64,
        /// The runner's value.
        got: f64,
        /// How many elements are not close.
        count: usize,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Type { want, got } => write!(f, "the result is {got}, not {want}"),
            Difference::Element { index, want, got, count } => {
                write!(f, "element {index} is {got:e}, not {want:e}; {count} elements differ")
            }
        }
    }
}

impl Reference {
    /// Evaluates every run of a sample.
    pub fn new(sample: &Sample, graph: &Graph) -> Result<Reference, EvalError> {
        let bindings = sample::bindings(sample, graph);
        let runs = |flush_subnormals| {
            let options = EvalOptions { keep_all: true, flush_subnormals, ..EvalOptions::default() };
            let runs = sample::evaluate(sample, graph, options)?;
            let bounded = runs.into_iter().map(|mut run| {
                let bounds = output_bounds(graph, &run, &bindings)?;
                run.values.clear();
                Ok((run, bounds))
            });
            bounded.collect::<Result<Vec<_>, EvalError>>()
        };
        Ok(Reference { plain: runs(false)?, flushed: runs(true)? })
    }

    /// The evaluation of a run; its `values` are not kept. None if the sample has fewer runs.
    pub fn run(&self, run: usize) -> Option<&Evaluation> {
        self.plain.get(run).map(|(e, _)| e)
    }

    /// Whether the status block of some run must report something.
    pub fn has_status(&self) -> bool {
        self.plain.iter().any(|(run, _)| !run.status.is_empty())
    }

    /// Where a runner's output differs by more than the op's tolerance; none if it is close everywhere.
    pub fn difference(&self, run: usize, output: usize, got: &Array) -> Option<Difference> {
        let (plain, bounds) = self.plain.get(run)?;
        let (flushed, flushed_bounds) = self.flushed.get(run)?;
        let (want, other) = (plain.outputs.get(output)?, flushed.outputs.get(output)?);
        if want.dtype != got.dtype || want.shape != got.shape {
            let show = |a: &Array| format!("{}{:?}", a.dtype, a.shape);
            return Some(Difference::Type { want: show(want), got: show(got) });
        }
        let far = |i: &usize| {
            !bounds[output].accepts(want, got, *i) && !flushed_bounds[output].accepts(other, got, *i)
        };
        let mut differing = (0..want.len()).filter(far);
        let index = differing.next()?;
        let count = 1 + differing.count();
        let value = |a: &Array| match &a.data {
            Data::Float(v) => v[index],
            Data::Int(v) => v[index] as f64,
        };
        Some(Difference::Element { index, want: value(want), got: value(got), count })
    }
}
