//! Gather by tuples of indices.

use super::Lower;
use crate::cx::{LowerCx, LowerResult, node_meaning};
use crate::meaning::StepMeaning;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::GatherNd;
use pumice_ir::shape::product;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::gather::GatherTuples;
use pumice_types::DimExpr;

impl Lower for GatherNd {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let (data, idx) = (node.input(0).ok_or("it has no data")?, node.input(1).ok_or("it has no indices")?);
        let axes = self.axes(cx.graph.ty(data), cx.graph.ty(idx)).map_err(|e| e.to_string())?;
        let (table, idx) = (cx.dense(data)?, cx.dense(idx)?);
        let y = cx.result(node.output())?;
        let (shape, slice) = (&table.view.shape, axes.batch + axes.tuple);
        let places = idx.view.shape.len() - 1;
        let picked = Picked {
            outer: product(&shape[..axes.batch]),
            dims: shape[axes.batch..slice].to_vec(),
            count: product(&idx.view.shape[axes.batch..places]),
            inner: product(&shape[slice..]),
            elements: false,
        };
        let meaning = node_meaning(cx, id)?;
        picked.emit(cx, [&table, &idx, &y], meaning)
    }
}

/// Elements of a table \[outer, dims…, inner\], of which tuples of indices pick `count` slices or, each by an index of
/// its own, elements.
pub(super) struct Picked {
    pub outer: DimExpr,
    pub dims: Vec<DimExpr>,
    pub count: DimExpr,
    pub inner: DimExpr,
    /// Whether every element has an index of its own.
    pub elements: bool,
}

impl Picked {
    /// The step that picks, of operands that are dense.
    pub fn emit(
        &self,
        cx: &mut LowerCx<'_>,
        [table, idx, y]: [&PlacedView; 3],
        meaning: StepMeaning,
    ) -> LowerResult {
        if y.is_empty() {
            return Ok(());
        }
        let results = &self.outer * &self.count * &self.inner;
        cx.fits_u32(&product(&table.view.shape), "the table")?;
        cx.fits_u32(&product(&idx.view.shape), "the index tensor")?;
        cx.fits_u32(&results, "the result")?;
        let number = cx.status_number();
        let mut step = StepBuilder::new();
        let call = GatherTuples {
            variant: GatherTuples::plain,
            wide: u32::from(idx.view.dtype.arena_bytes() == 8),
            elements: u32::from(self.elements),
            pair: u32::from(table.view.dtype.arena_bytes() == 8),
            outer: cx.arg(&self.outer),
            count: cx.arg(&self.count),
            inner: cx.arg(&self.inner),
            parts: ArgValue::U32(self.dims.len() as u32),
            dims: cx.args(&self.dims)?,
            op: ArgValue::U32(number),
            table: step.read(0, table),
            idx: step.read(1, idx),
            y: step.write(y),
            status: step.status(cx, number),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let grid = cx.grid(&results.ceil_div(&DimExpr::constant(256)))?;
        step.dispatch(cx, call.into_call(), grid, meaning)
    }
}
