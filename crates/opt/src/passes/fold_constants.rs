//! Evaluates nodes whose operands are all constants (OPS F18), up to a size. Leaves states, statuses and large results
//! alone, and expansions (`Expand`): a number that is broadcast is written into kernels, a filled tensor would be read
//! from memory. Dtype and rounding are those of the run-time path, because the evaluator is the same. After: no node
//! but those has constants alone for operands.

use crate::pipeline::PassCx;
use pumice_ir::ops::{Constant, Op};
use pumice_ir::{Graph, GraphBuilder, Node, Patch, ValueId};
use pumice_types::Tensor;
use std::sync::Arc;

/// Results with more elements than this stay nodes: the load program computes them once anyway.
const MAX_ELEMENTS: u64 = 1 << 16;

/// Tensors of the values that are constant or become it.
type Known = Vec<Option<Arc<Tensor>>>;

/// One patch for every node that is constant and used by one that is not.
pub fn fold_constants(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let mut known: Known = vec![None; graph.value_count()];
    let mut folded = Vec::new();
    for (_, node) in graph.nodes() {
        if let Op::Constant(c) = &node.op {
            known[node.output().index()] = Some(c.data.clone());
        } else if let Some(results) = fold(graph, node, &known, cx) {
            for (&v, data) in node.outputs.iter().zip(results) {
                known[v.index()] = Some(Arc::new(data));
            }
            folded.push(node);
        }
    }
    let needed = needed(graph, &known);
    folded.into_iter().filter_map(|node| patch(graph, node, &known, &needed)).collect()
}

/// For every value, whether a node that stays, or the program, uses it.
fn needed(graph: &Graph, known: &Known) -> Vec<bool> {
    let mut needed = vec![false; graph.value_count()];
    graph.outputs().iter().for_each(|o| needed[o.value.index()] = true);
    for (_, node) in graph.nodes() {
        if known[node.output().index()].is_none() {
            node.operands().for_each(|v| needed[v.index()] = true);
        }
    }
    needed
}

fn patch(graph: &Graph, node: &Node, known: &Known, needed: &[bool]) -> Option<Patch> {
    let mut patch = Patch::new(format!("fold {}", graph.value(node.output()).name));
    for &v in node.outputs.iter().filter(|v| needed[v.index()]) {
        let data = known[v.index()].clone()?;
        let new = patch.add(Constant { data }, graph.value(v).name.clone(), &[]);
        patch.replace(v, new);
    }
    (!patch.replace.is_empty()).then_some(patch)
}

fn fold(graph: &Graph, node: &Node, known: &Known, cx: &PassCx<'_>) -> Option<Vec<Tensor>> {
    let elements =
        |v: ValueId| graph.ty(v).static_shape().map(|s| s.iter().fold(1, |n: u64, &d| n.saturating_mul(d)));
    let small = |&v: &ValueId| elements(v).is_some_and(|n| n <= MAX_ELEMENTS);
    let grows = matches!(node.op, Op::Expand(_)) && elements(node.output()) != elements(node.input(0)?);
    let is_state = matches!(node.op, Op::State(_)) || node.op.state_operand().is_some();
    if grows || is_state || node.operands().next().is_none() || !node.outputs.iter().all(small) {
        return None;
    }
    let g = GraphBuilder::new("fold");
    let mut operands = Vec::with_capacity(node.inputs.len());
    for v in &node.inputs {
        operands.push(match v {
            Some(v) => Some(g.constant(Tensor::clone(known[v.index()].as_ref()?))),
            None => None,
        });
    }
    let results = g.apply_all(node.op.clone(), &operands);
    results.iter().enumerate().for_each(|(i, &r)| g.output(&format!("o{i}"), r));
    let results = cx.fold.eval(&g.build().ok()?).ok()?;
    (results.len() == node.outputs.len()).then_some(results)
}
