//! Expand, slice and split as views; concatenation as copies into parts.

use super::movement::operand;
use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::elementwise;
use crate::unplaced::PlacedView;
use crate::views::restride;
use pumice_ir::NodeId;
use pumice_ir::ops::{Concat, Expand, Slice, Split};
use pumice_types::DimExpr;

impl Lower for Expand {
    /// Stride 0 along stretched axes.
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let at = operand(cx, id)?;
        let to = cx.graph.ty(cx.graph.node(id).output()).shape.clone();
        let missing = to.len() - at.view.shape.len();
        let strides = (0..to.len()).map(|d| match d.checked_sub(missing) {
            Some(i) if !at.view.shape[i].is(1) || to[d].is(1) => at.view.strides[i].clone(),
            _ => DimExpr::constant(0),
        });
        let strides = strides.collect();
        let view = restride(&at, to.to_vec(), strides, at.view.offset.clone());
        cx.place(cx.graph.node(id).output(), view);
        Ok(())
    }
}

impl Lower for Slice {
    /// The offset moves to the first element, strides are multiplied by the steps.
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let at = operand(cx, id)?;
        let ranges = self.ranges(&at.view.shape, cx.graph.symbols()).map_err(|e| e.to_string())?;
        let (mut strides, mut offset) = (at.view.strides.clone(), at.view.offset.clone());
        let is_empty = at.view.shape.iter().chain(ranges.iter().map(|r| &r.len)).any(|d| d.is(0));
        for r in ranges {
            offset = offset + &strides[r.axis] * r.start;
            strides[r.axis] = &strides[r.axis] * DimExpr::constant(r.step);
        }
        if is_empty {
            offset = at.view.offset.clone();
        }
        // The type's extents: where symbols are bound more narrowly than when it was inferred, a length of the ranges
        // may be the same number in another form.
        let output = cx.graph.node(id).output();
        let view = restride(&at, cx.graph.ty(output).shape.to_vec(), strides, offset);
        cx.place(output, view);
        Ok(())
    }
}

impl Lower for Split {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let at = operand(cx, id)?;
        let axis = at.axis(self.axis)?;
        let mut start = DimExpr::constant(0);
        let node = cx.graph.node(id);
        for &v in &node.outputs {
            let shape = cx.graph.ty(v).shape.to_vec();
            let len = shape[axis].clone();
            let offset = &at.view.offset + &at.view.strides[axis] * &start;
            cx.place(v, restride(&at, shape, at.view.strides.clone(), offset));
            start = start + len;
        }
        Ok(())
    }
}

impl Lower for Concat {
    /// Params side by side are there already; else one copy per operand. Parts whose bytes are apart for every binding
    /// share a level; the others follow one another.
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let operands: Vec<_> = node.operands().collect();
        let outermost = node.op.is_joining(&cx.graph.ty(node.output()).shape);
        if outermost && let Some(together) = cx.side_by_side(&operands, node.output())? {
            cx.place(node.output(), together);
            return Ok(());
        }
        let why = cx.why_apart(&operands, outermost);
        let y = cx.result(node.output())?;
        let axis = y.axis(self.axis)?;
        let mut start = DimExpr::constant(0);
        for v in operands {
            let from = cx.at(v)?;
            let shape = from.view.shape.clone();
            let offset = &y.view.strides[axis] * &start;
            let whole = restride(&y, shape.clone(), y.view.strides.clone(), offset.clone());
            let to = if outermost { as_part(&y, &whole).unwrap_or(whole) } else { whole };
            elementwise::copy(cx, &from, &to, &why)?;
            start = start + &shape[axis];
        }
        Ok(())
    }
}

/// A dense part of a dense value as bytes of its own, where they are the same for every binding and a kernel can begin
/// there (16 bytes).
fn as_part(y: &PlacedView, part: &PlacedView) -> Option<PlacedView> {
    let unit = y.view.storage.unit(y.view.dtype);
    let start = unit.bytes_of(part.view.offset.as_extent()?)?;
    let len = unit.bytes_of(pumice_ir::shape::product(&part.view.shape).as_extent()?)?;
    let zero = DimExpr::constant(0);
    let at = restride(part, part.view.shape.clone(), part.view.strides.clone(), zero);
    start.is_multiple_of(16).then_some(PlacedView { part: Some((start, len)), ..at })
}
