//! `Split`: one Slice per part. Kept where the extents of the slices cannot be shown to be those of the parts.

use super::{Decompose, patch_for};
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::{Slice, Split};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DimExpr, Target};

impl Decompose for Split {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        let node = graph.node(id);
        let x = node.input(0)?;
        let shape = &graph.ty(x).shape;
        let axis = normalize_axis(self.axis, shape.len()).ok()?;
        let mut patch = patch_for(graph, id);
        let mut start = DimExpr::constant(0);
        for &part in &node.outputs {
            let (name, ty) = (&graph.value(part).name, graph.ty(part));
            let end = &start + &ty.shape[axis];
            if ty.shape == *shape {
                patch.replace(part, PatchRef::Old(x));
            } else {
                let (starts, ends) = (vec![start], vec![end.clone()]);
                let slice = Slice { starts, ends, axes: vec![axis as i64], steps: Vec::new(), exact: false };
                let range = slice.ranges(shape, graph.symbols()).ok()?.pop()?;
                if range.len != ty.shape[axis] {
                    return None;
                }
                let y = patch.add(slice, name.clone(), &[PatchRef::Old(x)]);
                patch.replace(part, y);
            }
            start = end;
        }
        Some(patch)
    }
}
