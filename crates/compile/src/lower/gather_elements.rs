//! Gather of elements along one axis, each by an index of its own.

use super::Lower;
use super::gather_nd::Picked;
use crate::cx::{LowerCx, LowerResult};
use crate::hole::Meant;
use crate::meaning::operand;
use crate::unplaced::PlacedView;
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::GatherElements;
use pumice_ir::shape::product;
use pumice_ir::{NodeId, ValueType};
use pumice_plan::View;
use pumice_types::DimExpr;

impl Lower for GatherElements {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let (data, idx) = (node.input(0).ok_or("it has no data")?, node.input(1).ok_or("it has no indices")?);
        let axis = normalize_axis(self.axis, cx.graph.ty(data).rank()).map_err(|e| e.to_string())?;
        let at = cx.at(data)?;
        let part = part(&at, &cx.graph.ty(idx).shape, axis);
        let table = cx.dense_at(&part, cx.graph.value(data).name.clone())?;
        let idx = cx.dense(idx)?;
        let y = cx.result(node.output())?;
        let cut = (part.view.shape != at.view.shape)
            .then(|| (0, ValueType::new(table.view.dtype, table.view.shape.clone())));
        let names = [(operand(0), 0), (operand(1), 1)];
        let meant = Meant::of_copies(cx, id, &names, cut.as_slice())?;
        let shape = &table.view.shape;
        let picked = Picked {
            outer: product(&shape[..axis]),
            dims: shape[axis..=axis].to_vec(),
            count: y.view.shape[axis].clone(),
            inner: product(&shape[axis + 1..]),
            elements: true,
        };
        picked.emit(cx, [&table, &idx, &y], meant.meaning)
    }
}

/// Of data the elements that indices of that shape can pick: off the axis they may be fewer.
fn part(data: &PlacedView, indices: &[DimExpr], axis: usize) -> PlacedView {
    let mut shape = indices.to_vec();
    shape[axis] = data.view.shape[axis].clone();
    PlacedView { view: View { shape, ..(*data.view).clone() }.into(), ..data.clone() }
}
