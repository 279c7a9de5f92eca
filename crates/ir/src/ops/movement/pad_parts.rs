//! What `Pad` is made of: slices, stretched values and joined parts; pads of fewer axes.

use super::pad::{AxisPad, Pad, PadMode};
use crate::ops::def::expansion;
use crate::ops::{Concat, Expand, Reshape, Slice};
use crate::{Graph, NodeId, Op, Patch, PatchRef};
use pumice_types::DimExpr;

/// Axes of which one step makes other borders than constant ones.
const TOGETHER: usize = 2;

/// The patch that makes it; none where it is one step.
pub(super) fn expand(op: &Pad, graph: &Graph, id: NodeId) -> Option<Patch> {
    let node = graph.node(id);
    let x = node.input(0)?;
    let shape = graph.ty(x).shape.to_vec();
    let name = graph.node_name(id);
    let sides = op.sides(shape.len()).ok()?;
    let adding: Vec<AxisPad> = sides.into_iter().filter(AxisPad::adds).collect();
    if op.mode != PadMode::Constant && (1..=TOGETHER).contains(&adding.len()) {
        return None;
    }
    let mut made = Made { patch: expansion(graph, id), name, at: PatchRef::Old(x), shape };
    match op.mode {
        PadMode::Constant => made.constant(&adding, node.input(1).map(PatchRef::Old)?),
        mode => adding.chunks(TOGETHER).for_each(|some| made.bordered(mode, some)),
    }
    // Where a symbol has one value, slices say extents as numbers, and the type may not.
    let shape = graph.ty(node.output()).shape.to_vec();
    let y = made.patch.add(Reshape { shape }, name, &[made.at]);
    let mut patch = made.patch;
    patch.replace(node.output(), y);
    Some(patch)
}

/// Parts along an axis, with how many elements each has there.
type Parts = Vec<(PatchRef, DimExpr)>;

/// The value as far as it is made.
struct Made<'g> {
    patch: Patch,
    name: &'g str,
    at: PatchRef,
    shape: Vec<DimExpr>,
}

impl Made<'_> {
    fn add(&mut self, what: &str, op: impl Into<Op>, operand: PatchRef) -> PatchRef {
        self.patch.add(op, format!("{}.{what}", self.name), &[operand])
    }

    /// `len` elements of an axis from `start` on, which are there.
    fn range(&mut self, axis: usize, start: DimExpr, len: &DimExpr) -> PatchRef {
        let ends = vec![&start + len];
        let (starts, axes) = (vec![start], vec![axis as i64]);
        self.add("part", Slice { starts, ends, axes, steps: Vec::new(), exact: true }, self.at)
    }

    /// A value of one element along an axis, or of none, stretched to `len`.
    fn stretched(&mut self, axis: usize, one: PatchRef, len: i64) -> Parts {
        let mut shape = self.shape.clone();
        let extent = DimExpr::constant(len);
        shape[axis] = extent.clone();
        if len == 0 { Vec::new() } else { vec![(self.add("stretched", Expand { shape }, one), extent)] }
    }

    /// Negative numbers of elements taken away.
    fn crop(&mut self, side: AxisPad) {
        let [before, after] = [side.before.min(0), side.after.min(0)];
        if before + after < 0 {
            let len = &self.shape[side.axis] + DimExpr::constant(before + after);
            self.at = self.range(side.axis, DimExpr::constant(-before), &len);
            self.shape[side.axis] = len;
        }
    }

    /// Axis by axis, of a value.
    fn constant(&mut self, sides: &[AxisPad], value: PatchRef) {
        for &side in sides {
            self.crop(side);
            let [before, after] =
                [side.before.max(0), side.after.max(0)].map(|len| self.stretched(side.axis, value, len));
            self.join(side.axis, before, after);
        }
    }

    /// Some axes at once, of the elements that there are.
    fn bordered(&mut self, mode: PadMode, sides: &[AxisPad]) {
        let before = sides.iter().map(|side| side.before);
        let pads = before.chain(sides.iter().map(|side| side.after)).collect();
        let axes = sides.iter().map(|side| side.axis as i64).collect();
        self.at = self.add("borders", Pad { mode, pads, axes }, self.at);
    }

    fn join(&mut self, axis: usize, before: Parts, after: Parts) {
        let n = (self.at, self.shape[axis].clone());
        let parts: Parts = before.into_iter().chain([n]).chain(after).collect();
        if parts.len() == 1 {
            return;
        }
        self.shape[axis] = parts.iter().fold(DimExpr::constant(0), |sum, (_, len)| sum + len);
        let operands: Vec<PatchRef> = parts.iter().map(|(part, _)| *part).collect();
        self.at = self.patch.add(Concat { axis: axis as i64 }, format!("{}.joined", self.name), &operands);
    }
}
