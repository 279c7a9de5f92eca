//! `Linear`: x·Wᵀ + b == Add(MatMul(x, W, trans_b), b).

use super::{Decompose, patch_for};
use pumice_ir::ops::{Add, Linear, MatMul};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::Target;

impl Decompose for Linear {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let (x, w) = (PatchRef::Old(node.input(0)?), PatchRef::Old(node.input(1)?));
        let product = MatMul { trans_a: false, trans_b: true };
        let mut patch = patch_for(graph, id);
        let y = match node.input(2) {
            None => patch.add(product, name, &[x, w]),
            Some(b) => {
                let y = patch.add(product, format!("{name}.product"), &[x, w]);
                patch.add(Add {}, name, &[y, PatchRef::Old(b)])
            }
        };
        patch.replace(node.output(), y);
        Some(patch)
    }
}
