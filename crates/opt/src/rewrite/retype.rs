//! Whether a node keeps its types when its operands are replaced.

use pumice_ir::infer::infer_types;
use pumice_ir::{Conditions, Graph, Node, NodeId, ValueId};
use smallvec::SmallVec;

/// Whether the node's results have the types they have if its operands were these, with no equality of extents that the
/// graph does not demand already. `known` are the graph's constraints.
pub fn keeps_types(graph: &Graph, known: &Conditions, id: NodeId, inputs: &[Option<ValueId>]) -> bool {
    let node: &Node = graph.node(id);
    let inputs: SmallVec<[Option<ValueId>; 4]> = inputs.iter().copied().collect();
    let (ty, constant) = (|v: ValueId| graph.ty(v), |v: ValueId| graph.constant_data(v));
    let inferred = infer_types(&node.op, &inputs, graph.symbols(), &ty, &constant);
    inferred.is_ok_and(|(types, constraints)| {
        types.len() == node.outputs.len()
            && types.iter().zip(&node.outputs).all(|(t, &v)| t == graph.ty(v))
            && constraints.iter().all(|c| known.imply(c))
    })
}
