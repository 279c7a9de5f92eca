//! Expansions that methods of the builder make.

use super::def::expansion;
use crate::builder::{GraphBuilder, Value};
use crate::graph::Graph;
use crate::ops::Op;
use crate::{NodeId, Patch, PatchRef, ValueId};

/// The patch that puts in a node's place what `make` makes of its operands: a value for each of its results. Nodes are
/// named after it. None where there is a mistake.
pub(crate) fn composed(
    graph: &Graph,
    id: NodeId,
    make: impl FnOnce(&GraphBuilder, &[Option<Value>]) -> Vec<Value>,
) -> Option<Patch> {
    let node = graph.node(id);
    let g = GraphBuilder::with_symbols(graph.name(), graph.symbols().clone());
    let operand =
        |(i, v): (usize, &Option<ValueId>)| v.map(|v| g.input(&format!("operand {i}"), graph.ty(v).clone()));
    let operands: Vec<Option<Value>> = node.inputs.iter().enumerate().map(operand).collect();
    let made: Option<Vec<ValueId>> =
        make(&g.named(graph.node_name(id)), &operands).into_iter().map(Value::valid).collect();
    let made = made.filter(|made| made.len() == node.outputs.len())?;
    g.look(|body| copied(body, expansion(graph, id), node.inputs.iter().flatten(), (&node.outputs, &made)))
}

/// The patch with the nodes of a graph, whose inputs are these operands, and whose values replace those.
fn copied<'v>(
    body: &Graph,
    mut patch: Patch,
    mut operands: impl Iterator<Item = &'v ValueId>,
    (replaced, made): (&[ValueId], &[ValueId]),
) -> Option<Patch> {
    let mut place: Vec<Option<PatchRef>> = vec![None; body.value_count()];
    for (inner, node) in body.nodes() {
        if matches!(node.op, Op::Input(_)) {
            place[node.output().index()] = operands.next().copied().map(PatchRef::Old);
            continue;
        }
        let inputs = node.inputs.iter().map(|v| v.and_then(|v| place[v.index()])).collect();
        let first = patch.add_opt(node.op.clone(), body.node_name(inner), inputs);
        for (i, v) in node.outputs.iter().enumerate() {
            place[v.index()] = first.result(i as u16);
        }
    }
    for (&outer, inner) in replaced.iter().zip(made) {
        patch.replace(outer, place[inner.index()]?);
    }
    Some(patch)
}
