//! What `Pad` is made of: slices, stretched values and joined parts.

use super::pad::{AxisPad, Pad, PadMode};
use crate::ops::def::expansion;
use crate::ops::{Concat, Expand, Reshape, Slice};
use crate::shape::product;
use crate::{Graph, NodeId, Op, Patch, PatchRef};
use pumice_types::DimExpr;

/// The patch that makes it.
pub(super) fn expand(op: &Pad, graph: &Graph, id: NodeId) -> Option<Patch> {
    let node = graph.node(id);
    let x = node.input(0)?;
    let value = node.input(1).map(PatchRef::Old);
    let shape = graph.ty(x).shape.to_vec();
    let name = graph.node_name(id);
    let mut made = Made { patch: expansion(graph, id), name, at: PatchRef::Old(x), shape };
    for side in op.sides(made.shape.len()).ok()? {
        made.crop(side);
        let [before, after] = [side.before.max(0), side.after.max(0)];
        let side = AxisPad { before, after, ..side };
        let [before, after] = match op.mode {
            PadMode::Constant => made.constant(side, value?),
            PadMode::Reflect => made.reflected(side),
            PadMode::Edge => made.edges(side),
            PadMode::Wrap => made.wrapped(side),
        };
        made.join(side.axis, before, after);
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

    fn backward(&mut self, axis: usize, part: PatchRef) -> PatchRef {
        let (starts, ends) = (vec![DimExpr::constant(-1)], vec![DimExpr::constant(i64::MIN)]);
        self.add(
            "mirror",
            Slice { starts, ends, axes: vec![axis as i64], steps: vec![-1], exact: false },
            part,
        )
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

    fn constant(&mut self, side: AxisPad, value: PatchRef) -> [Parts; 2] {
        [side.before, side.after].map(|len| self.stretched(side.axis, value, len))
    }

    fn edges(&mut self, side: AxisPad) -> [Parts; 2] {
        let (axis, one) = (side.axis, DimExpr::constant(1));
        let last = &self.shape[axis] - &one;
        [(DimExpr::constant(0), side.before), (last, side.after)].map(|(start, len)| {
            if len == 0 {
                return Vec::new();
            }
            let border = self.range(axis, start, &one);
            self.stretched(axis, border, len)
        })
    }

    fn reflected(&mut self, side: AxisPad) -> [Parts; 2] {
        let n = self.shape[side.axis].clone();
        let last = n - DimExpr::constant(1 + side.after);
        [(DimExpr::constant(1), side.before), (last, side.after)].map(|(start, len)| {
            if len == 0 {
                return Vec::new();
            }
            let len = DimExpr::constant(len);
            let part = self.range(side.axis, start, &len);
            vec![(self.backward(side.axis, part), len)]
        })
    }

    /// The last elements, whole copies where the axis is shorter than what is added, the first elements.
    fn wrapped(&mut self, side: AxisPad) -> [Parts; 2] {
        let (axis, n) = (side.axis, self.shape[side.axis].clone());
        let split = |len: i64| n.as_const().filter(|n| *n > 0).map_or((0, len), |n| (len / n, len % n));
        let ((copies_before, tail), (copies_after, head)) = (split(side.before), split(side.after));
        let mut before = Parts::new();
        if tail > 0 {
            let (start, len) = (&n - DimExpr::constant(tail), DimExpr::constant(tail));
            before.push((self.range(axis, start, &len), len));
        }
        before.extend(self.copies(axis, copies_before));
        let mut after = self.copies(axis, copies_after);
        if head > 0 {
            let len = DimExpr::constant(head);
            after.push((self.range(axis, DimExpr::constant(0), &len), len));
        }
        [before, after]
    }

    /// So many copies along an axis.
    fn copies(&mut self, axis: usize, count: i64) -> Parts {
        let n = self.shape[axis].clone();
        if count <= 1 {
            return (0..count).map(|_| (self.at, n.clone())).collect();
        }
        let (outer, row) = (product(&self.shape[..axis]), product(&self.shape[axis..]));
        let len = n * DimExpr::constant(count);
        let mut shape = self.shape.clone();
        shape[axis] = len.clone();
        let one = self.add("rows", Reshape { shape: vec![outer.clone(), 1.into(), row.clone()] }, self.at);
        let many = self.add("copies", Expand { shape: vec![outer, DimExpr::constant(count), row] }, one);
        vec![(self.add("ring", Reshape { shape }, many), len)]
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
