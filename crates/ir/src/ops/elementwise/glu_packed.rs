//! `Glu` with gate and value in one operand: the form with two operands, of two slices.
//!
//! Gates first: A == x\[0..h\], B == x\[h..2h\]. Alternating: A == x\[0::2\], B == x\[1::2\]. Where h varies, the axis is
//! seen as \[2, h\] or \[h, 2\] first, so that the slices have constant ends.

use crate::infer::normalize_axis;
use crate::ops::def::expansion;
use crate::ops::glu::GluPacking;
use crate::ops::{Glu, Reshape, Slice};
use crate::{Graph, NodeId, Patch, PatchRef, ValueId};
use pumice_types::DimExpr;

/// The node with two operands; `None` where it has them.
pub(crate) fn unpacked(op: &Glu, graph: &Graph, id: NodeId) -> Option<Patch> {
    if op.packing == GluPacking::Two {
        return None;
    }
    let (node, name) = (graph.node(id), graph.node_name(id));
    let x = node.input(0)?;
    let axis = normalize_axis(op.axis, graph.ty(x).rank()).ok()?;
    let half = graph.ty(node.output()).shape[axis].clone();
    let mut patch = expansion(graph, id);
    let parts = match half.as_const() {
        Some(h) => constant(&mut patch, x, axis as i64, h, op.packing, name),
        None => symbolic(&mut patch, graph, id, axis, op.packing),
    };
    let two = Glu { packing: GluPacking::Two, axis: -1, ..op.clone() };
    let y = patch.add(two, name, &parts);
    patch.replace(node.output(), y);
    Some(patch)
}

fn constant(
    patch: &mut Patch,
    x: ValueId,
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
