//! Takes transposes into the ops that can read their operands either way, so that nobody copies.
//!
//! Which ops do, and what is left for the result, is the ops' own answer (`OpDef::untransposed`); this drives it.
//!
//! Left alone: transposes of other axes (views that products read through strides anyway), and attention over keys that
//! lie in a state. Values are the same to the bit.

use crate::pipeline::PassCx;
use pumice_ir::ops::NodeCx;
use pumice_ir::{Graph, Patch, PatchRef};

/// One patch for every node that takes a transpose in.
pub fn fold_transposes(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    graph.nodes().filter_map(|(id, _)| folded(&NodeCx { graph, id })).collect()
}

/// The node over the transposes' operands, and a transpose after it where it needs one.
fn folded(cx: &NodeCx<'_>) -> Option<Patch> {
    let (node, name) = (cx.node(), cx.graph.node_name(cx.id));
    let found = node.op.untransposed(cx)?;
    let mut inputs: Vec<_> = node.inputs.iter().map(|v| v.map(PatchRef::Old)).collect();
    found.operands.iter().for_each(|&(i, x)| inputs[i] = Some(PatchRef::Old(x)));
    let mut patch = Patch::new(format!("{name} takes its transposes in"));
    let first = patch.add_opt(found.op, name, inputs);
    let mut y = first;
    if let Some(after) = found.after {
        y = patch.add(after, format!("{name}.transposed"), &[y]);
    }
    patch.replace(node.output(), y);
    for (&further, number) in node.outputs.iter().zip(0..).skip(1) {
        patch.replace(further, first.result(number)?);
    }
    Some(patch)
}
