//! `Glu` with gate and value in one operand: the form with two operands, of two slices.
//!
//! Gates first: A == x\[0..h\], B == x\[h..2h\]. Alternating: A == x\[0::2\], B == x\[1::2\]. Where h varies, the axis is
//! seen as \[2, h\] or \[h, 2\] first, so that the slices have constant ends.

use super::{Decompose, patch_for};
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::glu::GluPacking;
use pumice_ir::ops::{Glu, Reshape, Slice};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DimExpr, Target};

impl Decompose for Glu {
    fn decompose(&self, graph: &Graph, id: NodeId, _: &Target) -> Option<Patch> {
        if self.packing == GluPacking::Two {
            return None;
        }
        let (node, name) = (graph.node(id), graph.node_name(id));
        let x = node.input(0)?;
        let axis = normalize_axis(self.axis, graph.ty(x).rank()).ok()?;
        let half = graph.ty(node.output()).shape[axis].clone();
        let mut patch = patch_for(graph, id);
        let parts = match half.as_const() {
            Some(h) => constant(&mut patch, x, axis as i64, h, self.packing, name),
            None => symbolic(&mut patch, graph, id, axis, self.packing),
        };
        let two = Glu { packing: GluPacking::Two, axis: -1, ..self.clone() };
        let y = patch.add(two, name, &parts);
        patch.replace(node.output(), y);
        Some(patch)
    }
}

fn constant(
    patch: &mut Patch,
    x: pumice_ir::ValueId,
    axis: i64,
    h: i64,
    packing: GluPacking,
    name: &str,
) -> [PatchRef; 2] {
    ["gate", "value"].map(|part| {
        let second = i64::from(part == "value");
        let (start, end, steps) = match packing {
            GluPacking::Interleaved => (second, 2 * h, vec![2]),
            _ => (second * h, (second + 1) * h, Vec::new()),
        };
        let (starts, ends) = (vec![DimExpr::constant(start)], vec![DimExpr::constant(end)]);
        let slice = Slice { starts, ends, axes: vec![axis], steps, exact: false };
        patch.add(slice, format!("{name}.{part}"), &[PatchRef::Old(x)])
    })
}

fn symbolic(patch: &mut Patch, graph: &Graph, id: NodeId, axis: usize, packing: GluPacking) -> [PatchRef; 2] {
    let (node, name) = (graph.node(id), graph.node_name(id));
    let to = graph.ty(node.output()).shape.to_vec();
    let pair = axis + usize::from(packing == GluPacking::Interleaved);
    let mut paired = to.clone();
    paired.insert(pair, DimExpr::constant(2));
    let operands: Vec<PatchRef> = node.operands().map(PatchRef::Old).collect();
    let x = patch.add(Reshape { shape: paired }, format!("{name}.pairs"), &operands);
    [0, 1].map(|i| {
        let part = ["gate", "value"][i as usize];
        let (starts, ends) = (vec![DimExpr::constant(i)], vec![DimExpr::constant(i + 1)]);
        let slice = Slice { starts, ends, axes: vec![pair as i64], steps: Vec::new(), exact: false };
        let one = patch.add(slice, format!("{name}.{part}.one"), &[x]);
        patch.add(Reshape { shape: to.to_vec() }, format!("{name}.{part}"), &[one])
    })
}
