//! Evaluates nodes whose operands are all constants (OPS F18), up to a size. Leaves states, statuses and large results
//! alone, and expansions: a number that is broadcast is written into kernels, a filled tensor would be read from memory.
//! Dtype and rounding are those of the run-time path, because the evaluator is the same.

use crate::pipeline::PassCx;
use pumice_ir::ops::{Constant, Op};
use pumice_ir::{Graph, GraphBuilder, Node, Patch};
use pumice_types::Tensor;
use std::sync::Arc;

/// Results with more elements than this stay nodes: the load program computes them once anyway.
const MAX_ELEMENTS: u64 = 1 << 16;

/// One patch for every node that is constant.
pub fn fold_constants(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    graph.nodes().filter_map(|(_, node)| fold(graph, node, cx)).collect()
}

fn fold(graph: &Graph, node: &Node, cx: &PassCx<'_>) -> Option<Patch> {
    let small = |v| graph.ty(v).static_shape().is_some_and(|s| s.iter().product::<u64>() <= MAX_ELEMENTS);
    let constant = node.operands().count() > 0 && node.operands().all(|v| graph.constant_data(v).is_some());
    if !constant || node.op.state_operand().is_some() || !node.outputs.iter().all(|&v| small(v)) {
        return None;
    }
    let grows = matches!(node.op, Op::Expand(_))
        && graph.ty(node.output()).elements() != graph.ty(node.input(0)?).elements();
    if grows || matches!(node.op, Op::State(_)) {
        return None;
    }
    let results = evaluate(graph, node, cx)?;
    let name = &graph.value(node.output()).name;
    let mut patch = Patch::new(format!("fold {name}"));
    for (&v, data) in node.outputs.iter().zip(results) {
        let new = patch.add(Constant { data: Arc::new(data) }, graph.value(v).name.clone(), &[]);
        patch.replace(v, new);
    }
    Some(patch)
}

fn evaluate(graph: &Graph, node: &Node, cx: &PassCx<'_>) -> Option<Vec<Tensor>> {
    let g = GraphBuilder::new("fold");
    let operands: Vec<_> = node
        .inputs
        .iter()
        .map(|v| v.and_then(|v| graph.constant_data(v)).map(|t| g.constant(t.clone())))
        .collect();
    let results = g.apply_all(node.op.clone(), &operands);
    results.iter().enumerate().for_each(|(i, &r)| g.output(&format!("o{i}"), r));
    let results = cx.fold.eval(&g.build().ok()?).ok()?;
    (results.len() == node.outputs.len()).then_some(results)
}
