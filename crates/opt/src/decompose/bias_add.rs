//! `BiasAdd`: Add with the bias as \[C, 1, …\], so that it lies along its axis.

use super::{Decompose, patch_for};
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::{Add, BiasAdd, Reshape};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DimExpr, Target};

impl Decompose for BiasAdd {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let (x, b) = (node.input(0)?, node.input(1)?);
        let shape = &graph.ty(x).shape;
        let axis = normalize_axis(self.axis, shape.len()).ok()?;
        let mut patch = patch_for(graph, id);
        let mut bias = PatchRef::Old(b);
        // With the extent that x has: where the two are equal only by constraint, the result keeps x's type.
        let mut along = vec![DimExpr::constant(1); shape.len() - axis];
        along[0] = shape[axis].clone();
        if *graph.ty(b).shape != *along {
            bias = patch.add(Reshape { shape: along }, format!("{name}.bias"), &[bias]);
        }
        let y = patch.add(Add {}, name, &[PatchRef::Old(x), bias]);
        patch.replace(node.output(), y);
        Some(patch)
    }
}
