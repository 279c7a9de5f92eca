//! Takes transposes (`Transpose`) into the ops that can read their operands either way, so that nobody copies.
//!
//! Equations, on the axes named:
//! - MatMul(transpose(a), b) == MatMul(a, b) with `trans_a` the other way round, for the last two axes; so for b.
//! - With P the exchange of heads and sequence: Rotary(P(x), layout) == P(Rotary(x, other layout)).
//! - Attention(P(q), P(k), P(v), layout) == P(Attention(q, k, v, other layout)); mask and lengths do not change.
//!
//! Left alone: transposes of other axes (views that products read through strides anyway), and attention over keys that
//! lie in a state. Values are the same to the bit.

use super::eliminate_identities::exchanges;
use crate::pipeline::PassCx;
use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::ops::{Attention, MatMul, Rotary, Transpose};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};

/// One patch for every node that takes a transpose in.
pub fn fold_transposes(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let fold = |(id, node): (NodeId, &Node)| match &node.op {
        Op::MatMul(op) => matmul(graph, id, node, op),
        Op::Rotary(op) => rotary(graph, id, node, op),
        Op::Attention(op) => attention(graph, id, node, op),
        _ => None,
    };
    graph.nodes().filter_map(fold).collect()
}

/// An operand without the transpose of its last two axes that makes it, if there is one; and whether there was.
fn untransposed(graph: &Graph, v: ValueId) -> (PatchRef, bool) {
    match source(graph, Some(v), -2, -1) {
        Some(x) => (PatchRef::Old(x), true),
        None => (PatchRef::Old(v), false),
    }
}

/// The operand of the transpose that exchanges these axes, if the value is one.
fn source(graph: &Graph, v: Option<ValueId>, a: i64, b: i64) -> Option<ValueId> {
    let node = graph.def(v?);
    let Op::Transpose(t) = &node.op else { return None };
    let x = node.input(0)?;
    exchanges(t, graph.ty(x).rank(), a, b).then_some(x)
}

fn matmul(graph: &Graph, id: NodeId, node: &Node, op: &MatMul) -> Option<Patch> {
    let (a, was_a) = untransposed(graph, node.input(0)?);
    let (b, was_b) = untransposed(graph, node.input(1)?);
    if !was_a && !was_b {
        return None;
    }
    let folded = MatMul { trans_a: op.trans_a != was_a, trans_b: op.trans_b != was_b };
    let name = graph.node_name(id);
    let mut patch = Patch::new(format!("{name} takes its transposes in"));
    let y = patch.add(folded, name, &[a, b]);
    patch.replace(node.output(), y);
    Some(patch)
}

fn other(layout: AttentionLayout) -> AttentionLayout {
    match layout {
        AttentionLayout::Bhsd => AttentionLayout::Bshd,
        AttentionLayout::Bshd => AttentionLayout::Bhsd,
    }
}

fn rotary(graph: &Graph, id: NodeId, node: &Node, op: &Rotary) -> Option<Patch> {
    let x = source(graph, node.input(0), 1, 2)?;
    after(graph, id, Rotary { layout: other(op.layout), ..op.clone() }.into(), &[x])
}

fn attention(graph: &Graph, id: NodeId, node: &Node, op: &Attention) -> Option<Patch> {
    let of = |i| source(graph, node.input(i), 1, 2);
    let operands = [of(0)?, of(1)?, of(2)?];
    after(graph, id, Attention { layout: other(op.layout), ..op.clone() }.into(), &operands)
}

/// The node over the transposes' operands, and a transpose after it.
fn after(graph: &Graph, id: NodeId, op: Op, first: &[ValueId]) -> Option<Patch> {
    let (node, name) = (graph.node(id), graph.node_name(id));
    let rest = node.inputs.iter().skip(first.len()).copied();
    let inputs = first.iter().map(|&v| Some(v)).chain(rest).map(|v| v.map(PatchRef::Old)).collect();
    let mut patch = Patch::new(format!("{name} takes its transposes in"));
    let y = patch.add_opt(op, name, inputs);
    let back = patch.add(Transpose { perm: vec![0, 2, 1, 3] }, format!("{name}.transposed"), &[y]);
    patch.replace(node.output(), back);
    Some(patch)
}
