//! `Flatten`, `Squeeze`, `Unsqueeze`: the same elements under another shape, which is known. All are Reshape.

use super::{Decompose, patch_for};
use pumice_ir::ops::{Flatten, Reshape, Squeeze, Unsqueeze};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::Target;

macro_rules! reshapes {
    ($($Name:ident)*) => {$(
        impl Decompose for $Name {
            fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
                reshape(graph, id)
            }
        }
    )*};
}
reshapes! { Flatten Squeeze Unsqueeze }

fn reshape(graph: &Graph, id: NodeId) -> Option<Patch> {
    let node = graph.node(id);
    let shape = graph.ty(node.output()).shape.to_vec();
    let mut patch = patch_for(graph, id);
    let y = patch.add(Reshape { shape }, graph.node_name(id), &[PatchRef::Old(node.input(0)?)]);
    patch.replace(node.output(), y);
    Some(patch)
}
