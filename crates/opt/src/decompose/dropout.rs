//! `Dropout` in inference: y == x, mask == true everywhere.

use super::{Decompose, patch_for};
use pumice_ir::builder::scalar_tensor;
use pumice_ir::ops::{Constant, Dropout, Expand};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, Target};
use std::sync::Arc;

impl Decompose for Dropout {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let mut patch = patch_for(graph, id);
        patch.replace(node.output(), PatchRef::Old(node.input(0)?));
        if let Some(&mask) = node.outputs.get(1) {
            let data = Arc::new(scalar_tensor(DType::Bool, 1.0));
            let mut kept = patch.add(Constant { data }, format!("{name}.kept"), &[]);
            let shape = graph.ty(mask).shape.to_vec();
            if !shape.is_empty() {
                kept = patch.add(Expand { shape }, graph.value(mask).name.clone(), &[kept]);
            }
            patch.replace(mask, kept);
        }
        Some(patch)
    }
}
