//! Replaces a node by an earlier one with the same op, attributes and operands. Leaves alone what reads the world or
//! writes a state: leaves other than constants, and ops with a state operand. Before: any verified graph. After: no two
//! nodes compute the same, as far as equality of operands shows it. Results are the same to the bit.

use crate::pipeline::PassCx;
use indexmap::IndexMap;
use indexmap::map::Entry;
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use smallvec::SmallVec;

/// One patch for every node that repeats another. Chains of repeated nodes are found at once: operands are compared
/// after replacement.
pub fn eliminate_common_subexpressions(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let mut first: Vec<ValueId> = graph.values().map(|(v, _)| v).collect();
    let mut known: IndexMap<Key<'_>, NodeId> = IndexMap::new();
    let mut patches = Vec::new();
    for (id, node) in graph.nodes().filter(|(_, n)| is_pure(n)) {
        let inputs = node.inputs.iter().map(|v| v.map(|v| first[v.index()])).collect();
        let twin = match known.entry((&node.op, inputs)) {
            Entry::Vacant(new) => {
                new.insert(id);
                continue;
            }
            Entry::Occupied(twin) => *twin.get(),
        };
        let mut patch = Patch::new(format!("{} repeats {}", graph.node_name(id), graph.node_name(twin)));
        for (&again, &once) in node.outputs.iter().zip(&graph.node(twin).outputs) {
            first[again.index()] = once;
            patch.replace(again, PatchRef::Old(once));
        }
        patches.push(patch);
    }
    patches
}

/// What a node computes: its op and the first values that are its operands.
type Key<'g> = (&'g Op, SmallVec<[Option<ValueId>; 4]>);

fn is_pure(node: &Node) -> bool {
    !node.op.is_leaf_interface() && node.op.state_operand().is_none()
}
