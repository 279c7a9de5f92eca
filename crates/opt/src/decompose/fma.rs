//! `Fma`: a·b + c == Add(Mul(a, b), c).

use super::{Decompose, patch_for};
use pumice_ir::ops::{Add, Fma, Mul};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::Target;

impl Decompose for Fma {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let operand = |i| node.input(i).map(PatchRef::Old);
        let mut patch = patch_for(graph, id);
        let product = patch.add(Mul {}, format!("{name}.product"), &[operand(0)?, operand(1)?]);
        let y = patch.add(Add {}, name, &[product, operand(2)?]);
        patch.replace(node.output(), y);
        Some(patch)
    }
}
