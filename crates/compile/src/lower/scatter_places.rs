//! Where the updates of a scatter go.

use super::Lower;
use super::scatter_elements::Line;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use pumice_ir::ops::ScatterPlaces;
use pumice_ir::shape::product;
use pumice_ir::{NodeId, ValueType};
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::scatter::ScatterPlaces as Kernel;
use pumice_types::DimExpr;

impl Lower for ScatterPlaces {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let idx = node.input(0).ok_or("it has no indices")?;
        let of_idx = cx.graph.ty(idx);
        let (dims, taken, parts, along) = indexed(self, of_idx)?;
        let (elements, indices) = (product(&self.extents), product(&of_idx.shape));
        let idx = cx.dense(idx)?;
        let y = cx.result(node.output())?;
        let count: DimExpr = y.view.shape[0].clone();
        if count.is(0) {
            return Ok(());
        }
        cx.fits_u32(&elements, "the data")?;
        cx.fits_u32(&indices, "the index tensor")?;
        let number = cx.status_number();
        let mut step = StepBuilder::new();
        let call = Kernel {
            variant: Kernel::plain,
            wide: u32::from(idx.view.dtype.arena_bytes() == 8),
            elements: u32::from(self.elements),
            raises: cx.arg(&elements),
            count: cx.arg(&count),
            parts: ArgValue::U32(parts),
            index_axis: ArgValue::U32(along),
            extent: cx.args(&dims)?,
            taken: cx.args(&taken)?,
            op: ArgValue::U32(number),
            idx: step.read(0, &idx),
            y: step.write(&y),
            status: step.status(cx, number),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(cx, id, call.into_call(), &count.ceil_div(&256.into()))
    }
}

/// Extents that are indexed and those of the indices, how many indices mean a place, and the axis of single ones.
type Indexed = (Vec<DimExpr>, Vec<DimExpr>, u32, u32);

fn indexed(op: &ScatterPlaces, idx: &ValueType) -> LowerResult<Indexed> {
    if op.elements {
        let line = Line::of(op.axis, &op.extents, &idx.shape)?;
        return Ok((line.dims, line.taken, 1, line.along));
    }
    let tuple = op.tuple(idx).map_err(|e| e.to_string())?;
    Ok((op.extents[..tuple].to_vec(), Vec::new(), tuple as u32, 0))
}
