//! Slopes of losses along directions of their leaves.
//!
//! In: a finished graph whose outputs are losses, and what its leaves hold. Out: the slope of each, or that it has a
//! kink there.

pub use pumice_cpu_ref::differences::Slope;
use pumice_cpu_ref::{Array, Data, EvalOptions, differences, eval_graph};
use pumice_ir::{Graph, ValueId};
use pumice_types::Bindings;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Leaves by name, and how far each is moved.
pub type Direction = BTreeMap<String, Vec<f64>>;

/// What leaves hold, by name.
pub type Filled = BTreeMap<String, Arc<Array>>;

/// A graph on the evaluator, unrounded.
pub struct Evaluator<'a> {
    pub graph: &'a Graph,
    pub bindings: &'a Bindings,
    pub filled: &'a Filled,
}

impl Evaluator<'_> {
    /// The outputs as f64.
    pub fn outputs(&self, moved: Option<(&Direction, f64)>) -> Result<Vec<Vec<f64>>, String> {
        let leaf = |v: ValueId| {
            let name = &*self.graph.value(v).name;
            let array = self.filled.get(name)?;
            let Some((direction, by)) = moved.and_then(|(d, by)| Some((d.get(name)?, by))) else {
                return Some(array.clone());
            };
            let values = array.as_floats().iter().zip(direction).map(|(x, d)| x + by * d).collect();
            Some(Arc::new(Array { data: Data::Float(values), ..(**array).clone() }))
        };
        let options = EvalOptions { unrounded: true, ..EvalOptions::default() };
        let outputs = eval_graph(self.graph, &leaf, self.bindings, options).map_err(|e| e.to_string())?;
        Ok(outputs.outputs.iter().map(|a| a.to_f64()).collect())
    }

    /// The losses: every output is one number.
    fn losses(&self, direction: &Direction, by: f64) -> Result<Vec<f64>, String> {
        Ok(self.outputs(Some((direction, by)))?.iter().map(|y| y[0]).collect())
    }

    /// The slope of each loss, and what rounding may make of it; none where it does not settle, as at a kink.
    pub fn slopes(&self, at: &[f64], direction: &Direction) -> Result<Vec<Option<Slope>>, String> {
        differences::slopes(at, differences::STEP, |by| self.losses(direction, by))
    }
}
