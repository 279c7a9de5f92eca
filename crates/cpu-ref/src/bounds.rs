//! How close a graph's outputs must be reached: the tolerance of the op that makes each.
//!
//! In: a graph and an evaluation that kept every value. Out: per output a [`Bound`]. Ops that only move elements pass
//! the bounds of what they move on, moved in the same way; each result of an op with several has its own. An op on
//! inexact operands has its own bound only: graphs that chain inexact ops are compared where they are tested.

use crate::array::{Array, Data};
use crate::eval::EvalCx;
use crate::graph::{EvalError, Evaluation, actual_type, found};
use crate::ops;
use crate::tolerance::Tolerance;
use pumice_ir::{Graph, Node, ValueId};
use pumice_types::Bindings;

/// The tolerance of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Its class.
    pub tolerance: Tolerance,
    /// What `Sum` scales with, per element; empty for other classes.
    pub magnitude: Vec<f64>,
}

impl Bound {
    const EXACT: Bound = Bound { tolerance: Tolerance::Exact, magnitude: Vec::new() };

    /// Whether `got` is close to `want` at element `i`.
    pub fn accepts(&self, want: &Array, got: &Array, i: usize) -> bool {
        match (&want.data, &got.data) {
            (Data::Int(w), Data::Int(g)) => w.get(i) == g.get(i),
            (Data::Float(w), Data::Float(g)) => match (w.get(i), g.get(i)) {
                (Some(&w), Some(&g)) => {
                    let magnitude = self.magnitude.get(i).copied().unwrap_or(0.0);
                    self.tolerance.accepts(want.dtype, w, g, magnitude)
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// The bound of every output, in declaration order. `evaluation` must have kept all values.
pub fn output_bounds(
    graph: &Graph,
    evaluation: &Evaluation,
    bindings: &Bindings,
) -> Result<Vec<Bound>, EvalError> {
    let bindings = &with_found(graph, evaluation, bindings);
    graph.outputs().iter().map(|o| bound(graph, evaluation, bindings, o.value)).collect()
}

/// The bindings with the extents that the evaluation found.
fn with_found(graph: &Graph, all: &Evaluation, bindings: &Bindings) -> Bindings {
    let mut bindings = bindings.clone();
    for (_, node) in graph.nodes() {
        let value = all.values[node.output().index()].as_deref();
        if let Some((symbol, extent)) = value.and_then(|value| found(graph, node, value)) {
            bindings.bind(symbol, extent);
        }
    }
    bindings
}

fn bound(graph: &Graph, all: &Evaluation, bindings: &Bindings, v: ValueId) -> Result<Bound, EvalError> {
    let node = graph.def(v);
    // What only a branch needs that is not taken has no value.
    if node.op.is_leaf() || all.values[v.index()].is_none() {
        return Ok(Bound::EXACT);
    }
    let arrays: Vec<Option<&Array>> =
        node.inputs.iter().map(|i| i.and_then(|i| all.values[i.index()].as_deref())).collect();
    let types =
        node.outputs.iter().map(|&v| actual_type(graph, v, bindings)).collect::<Result<Vec<_>, _>>()?;
    if !node.op.moves_bits() {
        let cx = EvalCx::new(&arrays, &types, bindings).about(usize::from(graph.value(v).def.1));
        let known = node.op.rounding().is_none() || are_known(graph, all, bindings, node)?;
        return Ok(computed(node, &cx, known));
    }
    let operand = |i: Option<ValueId>| i.map(|i| bound(graph, all, bindings, i)).transpose();
    let bounds = node.inputs.iter().map(|i| operand(*i)).collect::<Result<Vec<Option<Bound>>, _>>()?;
    let result = usize::from(graph.value(v).def.1);
    Ok(moved(&arrays, &bounds, |inputs| {
        ops::eval(&node.op, &EvalCx::new(inputs, &types, bindings)).swap_remove(result)
    }))
}

/// The bound of a result that only moves elements: those of the operands, moved in the same way.
fn moved(
    arrays: &[Option<&Array>],
    bounds: &[Option<Bound>],
    movement: impl FnOnce(&[Option<&Array>]) -> Array,
) -> Bound {
    let mut tolerances = bounds.iter().flatten().map(|b| b.tolerance);
    let Some(tolerance) = tolerances.find(|t| *t != Tolerance::Exact) else {
        return Bound::EXACT;
    };
    let magnitudes: Vec<Option<Array>> =
        arrays.iter().zip(bounds).map(|(array, bound)| magnitudes(*array, bound.as_ref())).collect();
    let inputs: Vec<Option<&Array>> = magnitudes.iter().map(Option::as_ref).collect();
    Bound { tolerance, magnitude: movement(&inputs).as_floats().to_vec() }
}

/// The bound of a result that is computed, from factors that every runner has, or has made itself.
fn computed(node: &Node, cx: &EvalCx<'_>, known_factors: bool) -> Bound {
    let tolerance = match ops::tolerance(&node.op, cx) {
        tolerance if known_factors => tolerance,
        tolerance => tolerance.of_made_factors(node.op.rounding()),
    };
    let sums = matches!(tolerance, Tolerance::Sum { .. });
    Bound { tolerance, magnitude: if sums { ops::magnitude(&node.op, cx) } else { Vec::new() } }
}

/// What a movement moves instead of an operand to move its magnitudes, which are kept in f64; indices as they are.
fn magnitudes(array: Option<&Array>, bound: Option<&Bound>) -> Option<Array> {
    let (array, bound) = (array?, bound?);
    let magnitude = if bound.magnitude.is_empty() { vec![0.0; array.len()] } else { bound.magnitude.clone() };
    let data = if array.dtype.is_float() { Data::Float(magnitude) } else { array.data.clone() };
    Some(Array { dtype: array.dtype, shape: array.shape.clone(), data })
}

/// Whether the factors of a product are exactly what every runner has.
fn are_known(
    graph: &Graph,
    all: &Evaluation,
    bindings: &Bindings,
    product: &Node,
) -> Result<bool, EvalError> {
    let factors = product.operands().take(product.op.factors());
    let bounds = factors.map(|v| bound(graph, all, bindings, v)).collect::<Result<Vec<_>, _>>()?;
    Ok(bounds.iter().all(|bound| bound.tolerance == Tolerance::Exact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EvalOptions, eval_graph};
    use pumice_ir::ops::Fused;
    use pumice_ir::{GraphBuilder, f32};
    use pumice_types::DType;
    use std::sync::Arc;

    /// A node with an exact result, a function and a sum: each has the tolerance of what makes it.
    #[test]
    fn every_result_has_its_own_bound() {
        let body = GraphBuilder::new("body");
        let x = body.input("x", f32([4]));
        body.output("size", body.abs(x));
        body.output("exp", body.exp(x));
        body.output("sum", body.reduce_sum(x, &[0], false));
        let body = Arc::new(body.build().expect("sound"));
        let g = GraphBuilder::new("three");
        let x = g.input("x", f32([4]));
        let results = g.apply_all(Fused { kind: "elementwise".to_owned(), body }, &[Some(x)]);
        ["a", "b", "c"].iter().zip(&results).for_each(|(name, &v)| g.output(name, v));
        let graph = g.build().expect("sound");
        let given = Arc::new(Array::floats(DType::F32, &[4], vec![0.5, -1.0, 2.25, 3.0]));
        let options = EvalOptions { keep_all: true, ..EvalOptions::default() };
        let all =
            eval_graph(&graph, &|_| Some(given.clone()), &Bindings::new(), options).expect("has a value");
        let bounds = output_bounds(&graph, &all, &Bindings::new()).expect("has bounds");
        assert_eq!(bounds[0], Bound { tolerance: Tolerance::Exact, magnitude: Vec::new() });
        assert!(matches!(bounds[1].tolerance, Tolerance::Ulp { ulp, .. } if ulp > 0.5), "{:?}", bounds[1]);
        assert_eq!(bounds[2], Bound { tolerance: Tolerance::Sum { k: 4, more: 0.0 }, magnitude: vec![6.75] });
    }
}
