//! `CastLike`: Cast to the dtype of the other operand.

use super::{Decompose, patch_for};
use pumice_ir::ops::{Cast, CastLike};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::Target;

impl Decompose for CastLike {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        let node = graph.node(id);
        let to = graph.ty(node.input(1)?).dtype();
        let mut patch = patch_for(graph, id);
        let y = patch.add(Cast { to }, graph.node_name(id), &[PatchRef::Old(node.input(0)?)]);
        patch.replace(node.output(), y);
        Some(patch)
    }
}
