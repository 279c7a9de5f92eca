//! Evaluates nodes whose operands are all constants (OPS F18), up to a size and to what evaluating costs. Leaves
//! states, statuses, large results, long sums and ops of users alone, and expansions (`Expand`): a number that is
//! broadcast is written into kernels, a filled tensor would be read from memory. Dtype and rounding are those of the
//! run-time path, because the evaluator is the same. After: no node but those has constants alone for operands.

use crate::pipeline::PassCx;
use pumice_ir::infer::Infer;
use pumice_ir::ops::{Constant, Op};
use pumice_ir::{Graph, GraphBuilder, Node, Patch, ValueId, ValueType};
use pumice_types::Tensor;
use std::sync::Arc;

/// Results with more elements than this stay nodes: the load program computes them once anyway.
const MAX_ELEMENTS: u64 = 1 << 16;

/// Elements read for one node at most: a window over each of 65,536 elements reads thousands of millions.
const MOST_READS: u64 = 1 << 26;

/// The same for a graph.
const MOST_READS_IN_ALL: u64 = 1 << 28;

/// Tensors of the values that are constant or become it.
type Known = Vec<Option<Arc<Tensor>>>;

/// One patch for every node that is constant and used by one that is not.
pub fn fold_constants(graph: &Graph, cx: &PassCx<'_>) -> Vec<Patch> {
    let mut known: Known = vec![None; graph.value_count()];
    let (mut folded, mut left) = (Vec::new(), MOST_READS_IN_ALL);
    for (_, node) in graph.nodes() {
        if let Op::Constant(c) = &node.op {
            known[node.output().index()] = Some(c.data.clone());
        } else if let Some(results) = fold(graph, node, &known, &mut left, cx) {
            for (&v, data) in node.outputs.iter().zip(results) {
                known[v.index()] = Some(Arc::new(data));
            }
            folded.push(node);
        }
    }
    let needed = needed(graph, &known);
    folded.into_iter().filter_map(|node| patch(graph, node, &known, &needed)).collect()
}

/// For every value, whether a node that stays, or the program, uses it as a constant. What a node would refuse as one,
/// an index outside, stays computed: the run reports it.
fn needed(graph: &Graph, known: &Known) -> Vec<bool> {
    let mut needed = vec![false; graph.value_count()];
    graph.outputs().iter().for_each(|o| needed[o.value.index()] = true);
    let staying =
        || graph.nodes().map(|(_, node)| node).filter(|node| known[node.output().index()].is_none());
    staying().flat_map(Node::operands).for_each(|v| needed[v.index()] = true);
    staying()
        .filter(|node| refuses(graph, node, known))
        .flat_map(Node::operands)
        .for_each(|v| needed[v.index()] = false);
    needed
}

/// Whether an op that constants steer is wrong with those that are known.
fn refuses(graph: &Graph, node: &Node, known: &Known) -> bool {
    if node.op.steering_operands().is_empty() {
        return false;
    }
    let types: Vec<Option<&ValueType>> = node.inputs.iter().map(|v| v.map(|v| graph.ty(v))).collect();
    let constants = |i: usize| node.input(i).and_then(|v| known[v.index()].as_deref());
    node.op.infer(&Infer::new(graph.symbols(), node.op.operand_names(), &types, &constants)).is_err()
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

fn elements(graph: &Graph, v: ValueId) -> Option<u64> {
    graph.ty(v).static_shape().map(|shape| shape.iter().fold(1, |n: u64, &d| n.saturating_mul(d)))
}

/// Elements that a node with small results reads at most: each result one of every operand, or all of them.
fn reads(graph: &Graph, node: &Node) -> Option<u64> {
    let of_results = elements(graph, node.output())?.max(1);
    if node.op.is_elementwise() || node.op.moves_bits() {
        return Some(of_results);
    }
    let most =
        node.operands().map(|v| elements(graph, v)).collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    Some(of_results.saturating_mul(most))
}

/// The results of a node whose operands are known, within `left` reads.
fn fold(graph: &Graph, node: &Node, known: &Known, left: &mut u64, cx: &PassCx<'_>) -> Option<Vec<Tensor>> {
    let elements = |v: ValueId| elements(graph, v);
    let small = |&v: &ValueId| elements(v).is_some_and(|n| n <= MAX_ELEMENTS);
    let grows = matches!(node.op, Op::Expand(_)) && elements(node.output()) != elements(node.input(0)?);
    let is_state = matches!(node.op, Op::State(_)) || node.op.state_operand().is_some();
    let is_loop = node.op.carries().is_some() || node.op.loops().is_some();
    let is_control = is_loop || node.op.branches().is_some() || node.op.is_barrier();
    if grows
        || is_control
        || is_state
        || node.op.user_name().is_some()
        || node.operands().next().is_none()
        || !node.outputs.iter().all(small)
    {
        return None;
    }
    let operands = node.inputs.iter().map(|v| match v {
        Some(v) => known[v.index()].as_ref().map(Some),
        None => Some(None),
    });
    let operands = operands.collect::<Option<Vec<_>>>()?;
    *left = left.checked_sub(reads(graph, node).filter(|n| *n <= MOST_READS)?)?;
    evaluated(node, &operands, cx)
}

/// The results of a node over these operands.
fn evaluated(node: &Node, operands: &[Option<&Arc<Tensor>>], cx: &PassCx<'_>) -> Option<Vec<Tensor>> {
    let g = GraphBuilder::new("fold");
    let constant = |data: &Option<&Arc<Tensor>>| data.map(|data| g.constant(Tensor::clone(data)));
    let operands: Vec<_> = operands.iter().map(constant).collect();
    let results = g.apply_all(node.op.clone(), &operands);
    results.iter().enumerate().for_each(|(i, &r)| g.output(&format!("o{i}"), r));
    let results = cx.fold.eval(&g.build().ok()?).ok()?;
    (results.len() == node.outputs.len()).then_some(results)
}
