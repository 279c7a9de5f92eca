//! Runs entries on the evaluator, one after the other, over the states of one program.
#![allow(dead_code, reason = "each test takes what it needs")]

use pumice_cpu_ref::array::unrounded;
use pumice_cpu_ref::{Array, EvalOptions, eval_graph};
use pumice_ir::{Graph, ValueId};
use pumice_train::{Numbers, TABLE_ROWS, names};
use pumice_types::{Bindings, DType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values by name.
pub type Values = BTreeMap<String, Arc<Array>>;

/// A program that is run.
pub struct Rig {
    /// Params and states; a state that is not there is 0.
    pub kept: Values,
    /// Whether floats are rounded.
    pub rounded: bool,
}

/// An f32 in f64.
pub fn floats(shape: &[u64], values: Vec<f64>) -> Arc<Array> {
    unrounded(|| Arc::new(Array::floats(DType::F32, shape, values)))
}

/// An i32.
pub fn ints(shape: &[u64], values: Vec<i64>) -> Arc<Array> {
    Arc::new(Array::ints(DType::I32, shape, values))
}

impl Rig {
    /// With these params.
    pub fn new(rounded: bool) -> Rig {
        Rig { kept: Values::new(), rounded }
    }

    /// Sets a param or a state.
    pub fn set(&mut self, name: &str, value: Arc<Array>) {
        self.kept.insert(name.to_owned(), value);
    }

    /// The elements of a param or a state.
    pub fn floats(&self, name: &str) -> Vec<f64> {
        self.kept[name].to_f64()
    }

    /// A count that entries keep; 0 before one was written.
    pub fn count(&self, name: &str) -> i64 {
        self.kept.get(name).map_or(0, |array| array.as_ints()[0])
    }

    /// The inputs of the numbers of the next update, from a base up to 63 updates before it.
    pub fn numbers(&self, numbers: &Numbers, inputs: &mut Values) {
        let updates = self.count(names::UPDATES) as u64;
        let base = updates - updates % 5;
        let rows: Vec<f64> = (base..base + TABLE_ROWS).flat_map(|n| numbers.row(n)).collect();
        inputs.insert(names::NUMBERS.into(), floats(&[TABLE_ROWS, numbers.columns() as u64], rows));
        inputs.insert(names::BASE.into(), ints(&[], vec![base as i64]));
    }

    /// Runs an entry; its outputs by name. Symbols are bound by the extents of inputs.
    pub fn run(&mut self, graph: &Graph, inputs: &Values) -> Values {
        let leaf = |v: ValueId| {
            let name = &*graph.value(v).name;
            let known = inputs.get(name).or_else(|| self.kept.get(name)).cloned();
            known.or_else(|| zero(graph, v))
        };
        let options = EvalOptions { unrounded: !self.rounded, ..EvalOptions::default() };
        let made = eval_graph(graph, &leaf, &bindings(graph, inputs), options).expect("the entry runs");
        assert!(made.status.is_empty(), "{:?}", made.status);
        for (v, state) in graph.states().into_iter().zip(made.states) {
            self.kept.insert(graph.value(v).name.to_string(), state);
        }
        graph.outputs().iter().map(|o| o.name.clone()).zip(made.outputs).collect()
    }
}

/// The value of a leaf that nobody gave: of params and inputs none.
fn zero(graph: &Graph, v: ValueId) -> Option<Arc<Array>> {
    let given = graph.inputs().contains(&v) || graph.params().contains(&v);
    let ty = graph.ty(v);
    let shape = ty.static_shape().filter(|_| !given)?;
    let count = shape.iter().product::<u64>() as usize;
    Some(Arc::new(match ty.dtype() {
        d if d.is_float() => Array::floats(d, &shape, vec![0.0; count]),
        d => Array::ints(d, &shape, vec![0; count]),
    }))
}

fn bindings(graph: &Graph, inputs: &Values) -> Bindings {
    let mut bindings = Bindings::new();
    for v in graph.inputs() {
        let Some(array) = inputs.get(&*graph.value(v).name) else { continue };
        for (extent, &is) in graph.ty(v).shape.iter().zip(&array.shape) {
            if let Some(symbol) = extent.as_symbol() {
                bindings.bind(symbol, is);
            }
        }
    }
    bindings
}

/// A rank-0 output.
pub fn number(outputs: &Values, name: &str) -> f64 {
    outputs[name].to_f64()[0]
}

/// The largest difference of two lists, as a share of the larger element (or of 1).
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs() / x.abs().max(y.abs()).max(1.0)).fold(0.0, f64::max)
}
