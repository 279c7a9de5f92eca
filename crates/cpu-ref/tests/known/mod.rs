//! Graphs of constants, and the values that the evaluator gives them.

#![allow(dead_code, reason = "every test takes what it needs")]

use pumice_cpu_ref::{Array, RefEval};
use pumice_ir::{ConstEval, GraphBuilder, Value};
use pumice_types::Tensor;

/// A constant of f32.
pub fn floats(g: &GraphBuilder, values: &[f64], shape: &[u64]) -> Value {
    let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    g.constant(Tensor::new(&values, shape).expect("lengths agree"))
}

/// The results of a graph.
pub fn results(build: impl FnOnce(&GraphBuilder) -> Vec<Value>) -> Vec<Array> {
    let g = GraphBuilder::new("known");
    for (i, y) in build(&g).into_iter().enumerate() {
        g.output(&format!("y{i}"), y);
    }
    let graph = g.build().expect("the graph is right");
    RefEval.eval(&graph).expect("it has a value").iter().map(Array::from_tensor).collect()
}

/// Extents and elements of the one result of a graph.
pub fn run(build: impl FnOnce(&GraphBuilder) -> Value) -> (Vec<u64>, Vec<f64>) {
    let y = &results(|g| vec![build(g)])[0];
    (y.shape.clone(), y.to_f64())
}
