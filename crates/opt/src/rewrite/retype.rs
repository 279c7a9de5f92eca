//! Whether a node keeps its types when its operands are replaced.

use pumice_ir::infer::infer_types;
use pumice_ir::{Conditions, Graph, Node, NodeId, ValueId};

/// Whether the node's results have the types they have if its operands were these, with no equality of extents that the
/// graph does not demand already. `known` are the graph's constraints.
pub fn keeps_types(graph: &Graph, known: &Conditions, id: NodeId, inputs: &[Option<ValueId>]) -> bool {
    let node: &Node = graph.node(id);
    infer_types(graph, &node.op, inputs).is_ok_and(|(types, constraints)| {
        types.len() == node.outputs.len()
            && types.iter().zip(&node.outputs).all(|(t, &v)| t == graph.ty(v))
            && constraints.iter().all(|c| known.imply(c))
    })
}
