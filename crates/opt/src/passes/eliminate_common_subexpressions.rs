//! Replaces a node by an earlier one with the same op, attributes and operands. Leaves alone what reads the world or
//! writes a state: leaves other than constants, and ops with a state operand. Before: any verified graph. After: no two
//! nodes compute the same, as far as equality of operands shows it. Results are the same to the bit.

use crate::pipeline::PassCx;
use pumice_ir::{AttrValue, Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use std::collections::BTreeMap;

/// One patch for every node that repeats another. Chains of repeated nodes are found at once: operands are compared
/// after replacement.
pub fn eliminate_common_subexpressions(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let mut first: Vec<ValueId> = graph.values().map(|(v, _)| v).collect();
    let mut known: BTreeMap<Key, Vec<NodeId>> = BTreeMap::new();
    let mut patches = Vec::new();
    for (id, node) in graph.nodes().filter(|(_, n)| is_pure(n)) {
        let inputs = node.inputs.iter().map(|v| v.map(|v| first[v.index()])).collect();
        let same = known.entry(Key { op: node.op.name(), inputs, data: fingerprint(&node.op) }).or_default();
        let Some(&twin) = same.iter().find(|&&t| equal(&graph.node(t).op, &node.op)) else {
            same.push(id);
            continue;
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

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    op: &'static str,
    inputs: Vec<Option<ValueId>>,
    data: u64,
}

fn is_pure(node: &Node) -> bool {
    !node.op.is_leaf_interface() && node.op.state_operand().is_none()
}

/// FNV-1a over constant data, so that constants are compared with few others.
fn fingerprint(op: &Op) -> u64 {
    let Op::Constant(c) = op else { return 0 };
    c.data
        .bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Equality to the bit: 0 and −0 differ as attributes.
fn equal(a: &Op, b: &Op) -> bool {
    let bits = |op: &Op| -> Vec<u64> {
        let float = |v: &AttrValue| if let AttrValue::Float(f) = v { Some(f.to_bits()) } else { None };
        op.attrs().iter().filter_map(|(_, v)| float(v)).collect()
    };
    a == b && bits(a) == bits(b)
}
