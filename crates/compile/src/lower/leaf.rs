//! Leaves, and the nodes that only name what is there.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::unplaced::{PlacedView, StorageClass};
use pumice_ir::NodeId;
use pumice_ir::ops::{Constant, Extent, Input, Param, Scalar, State, StateRead, StateWrite};
use pumice_plan::{FrameSlot, Storage, View};
use pumice_types::{DimExpr, Encoding};
use std::sync::Arc;

fn place_natural(cx: &mut LowerCx<'_>, id: NodeId, class: StorageClass) -> LowerResult {
    let value = cx.graph.node(id).output();
    let info = cx.graph.value(value);
    let storage = match info.ty.encoding {
        Encoding::Plain(_) => Storage::Natural,
        encoding @ (Encoding::Blocks(_) | Encoding::Codes(_)) => Storage::Encoded(encoding),
    };
    let at = cx.alloc(info.name.clone(), class, storage, &info.ty)?;
    cx.place(value, at);
    Ok(())
}

impl Lower for Input {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let index = cx.leaf_number(id)?;
        place_natural(cx, id, StorageClass::Input(index))
    }
}

impl Lower for Param {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let index = cx.leaf_number(id)?;
        place_natural(cx, id, StorageClass::Param(index))
    }
}

impl Lower for Constant {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let class = cx.constant_class(cx.leaf_number(id)?)?;
        place_natural(cx, id, class)
    }
}

impl Lower for State {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let index = cx.leaf_number(id)?;
        place_natural(cx, id, StorageClass::State(index))
    }
}

impl Lower for Scalar {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let value = cx.graph.node(id).output();
        // One that only another entry reads: this one has no word for it, whatever it has become.
        if cx.users(value).is_empty() && !cx.graph.is_output(value) {
            return Ok(());
        }
        let scalar = cx.scalar_id(value).ok_or("it is not a scalar of the graph")?;
        let integer = !self.ty.dtype().is_float();
        cx.place_in_frame(value, FrameSlot::Scalar(scalar), integer.then(|| DimExpr::scalar(scalar)));
        Ok(())
    }
}

impl Lower for Extent {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = node.input(0).ok_or("it has no operand")?;
        let shape = &cx.graph.ty(x).shape;
        let axis = pumice_ir::infer::normalize_axis(self.axis, shape.len()).map_err(|e| e.to_string())?;
        let extent = shape[axis].clone();
        let slot = extent.as_symbol().map_or_else(|| FrameSlot::Expr(extent.clone()), FrameSlot::Bound);
        cx.place_in_frame(node.output(), slot, Some(extent));
        Ok(())
    }
}

impl Lower for StateRead {
    /// The version's bytes as they lie in the state; no step.
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let at = cx.at(node.input(0).ok_or("it has no operand")?)?;
        cx.place(node.output(), at);
        Ok(())
    }
}

/// Nodes after a write that still read the version it replaces read a copy: otherwise one that also reads the new
/// version, or two states that take each other's place, would have to come before and after the write.
pub fn keep_for_later(cx: &mut LowerCx<'_>, id: NodeId, previous: &PlacedView) -> LowerResult {
    let mut late = cx.placed_in(previous.version);
    late.retain(|v| cx.readers(*v).any(|reader| reader > id));
    if late.is_empty() || previous.is_empty() {
        return Ok(());
    }
    let ty = pumice_ir::ValueType::new(previous.view.dtype, previous.view.shape.clone());
    let copy = cx.alloc("state_before", StorageClass::Scratch, Storage::Arena, &ty)?;
    crate::elementwise::copy(cx, previous, &copy, "later nodes read the version that is replaced")?;
    for v in late {
        let View { shape, strides, offset, .. } = Arc::unwrap_or_clone(cx.at(v)?.view);
        cx.place(v, crate::views::restride(&copy, shape, strides, offset));
    }
    Ok(())
}

/// A value that a step writes to a state: a copy where it is the state itself under a view, which would be overwritten
/// while it is read.
pub fn apart(cx: &mut LowerCx<'_>, x: PlacedView, state: &PlacedView) -> LowerResult<PlacedView> {
    let buffer = |at: &PlacedView| cx.unplaced.versions[at.version.0 as usize].buffer;
    if buffer(&x) != buffer(state) {
        return Ok(x);
    }
    let ty = pumice_ir::ValueType::new(x.view.dtype, x.view.shape.clone());
    let to = cx.alloc("state_copy", StorageClass::Scratch, Storage::Arena, &ty)?;
    crate::elementwise::copy(cx, &x, &to, "it lies in the state that it is written to")?;
    Ok(to)
}

/// The next version of a state's buffer, placed as the result of a writing node.
pub fn next_version(cx: &mut LowerCx<'_>, id: NodeId, previous: &PlacedView) -> LowerResult<PlacedView> {
    if !matches!(cx.unplaced.buffer_of(previous.version).class, StorageClass::State(_)) {
        return Err("it writes a value that is not a state; make it one with `state` or `cache`".into());
    }
    keep_for_later(cx, id, previous)?;
    let value = cx.graph.node(id).output();
    let at = cx.next_version(value, previous.version);
    cx.place(value, at.clone());
    Ok(at)
}

impl Lower for StateWrite {
    /// A copy, unless the step that computes the value wrote it where it belongs.
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        if cx.is_placed(node.output()) {
            return Ok(());
        }
        let previous = cx.at(node.input(0).ok_or("it has no state")?)?;
        let x = cx.at(node.input(1).ok_or("it has no value")?)?;
        let x = apart(cx, x, &previous)?;
        let to = next_version(cx, id, &previous)?;
        crate::elementwise::copy(cx, &x, &to, "the step that makes it does not write the state in place")
    }
}
