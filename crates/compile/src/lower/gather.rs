//! Gather along one axis: embedding tables, index selection.

use super::LowerResult;
use crate::cx::{LowerCx, node_meaning};
use crate::rows::Rows;
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::infer::normalize_axis;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::gather::{Gather, GatherWords};
use pumice_types::{DType, DimExpr};

/// Lowers a gather of `data` by `idx` along an axis.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId, axis: i64) -> LowerResult {
    let node = cx.graph.node(id);
    let (data, idx) = (node.input(0).ok_or("it has no data")?, node.input(1).ok_or("it has no indices")?);
    let table = if cx.graph.ty(data).dtype().is_float() { cx.dense_stored(data)? } else { cx.dense(data)? };
    let idx = cx.dense(idx)?;
    let y = cx.result(node.output())?;
    if y.view.shape.iter().any(|d| d.is(0)) {
        return Ok(());
    }
    let axis = normalize_axis(axis, table.view.shape.len()).map_err(|e| e.to_string())?;
    let space = Rows::of(&table.view.shape, axis..axis + 1);
    cx.fits_u32(&pumice_ir::shape::product(&table.view.shape), "the table")?;
    cx.fits_u32(&pumice_ir::shape::product(&y.view.shape), "the result")?;
    let count = pumice_ir::shape::product(&idx.view.shape);
    let wide_index = u32::from(idx.view.dtype.arena_bytes() == 8);
    let float = table.view.dtype.is_float();
    let number = cx.status_number();
    let mut step = StepBuilder::new();
    let typed = step.read_typed(&table);
    let (idx, yi) = (step.read(&idx), step.write(&y));
    let status = step.status(cx, number);
    let words = if table.view.dtype.arena_bytes() == 8 { 2u64 } else { 1 };
    let inner = space.inner.clone() * words.into();
    let (outer, extent, n) = (cx.arg(&space.outer), cx.arg(&space.n), cx.arg(&count));
    let op = ArgValue::U32(number);
    let (call, per_row) = if float {
        let vec = inner.divisor(cx.graph.symbols()).is_multiple_of(4);
        let call = Gather {
            variant: Gather::plain,
            wide: wide_index,
            vec: u32::from(vec),
            slot_cols: 0,
            outer,
            axis: extent,
            inner: cx.arg(&inner),
            count: n,
            op,
            slot_offset: Default::default(),
            slot_outer: Default::default(),
            slot_row: Default::default(),
            table: typed,
            idx,
            y: yi,
            status,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        (call.into_call(), inner.ceil_div(&DimExpr::constant(4)))
    } else {
        let (variant, inner_arg) = (GatherWords::plain, cx.arg(&inner));
        let call = GatherWords {
            variant,
            wide: wide_index,
            outer,
            axis: extent,
            inner: inner_arg,
            count: n,
            op,
            table: typed.at,
            idx,
            y: yi,
            status,
            slots: Vec::new(),
            holes: Vec::new(),
        };
        (call.into_call(), inner)
    };
    debug_assert!(float || table.view.dtype != DType::F32);
    let grid = cx.grid(&(space.outer * count * per_row).ceil_div(&DimExpr::constant(256)))?;
    let meaning = node_meaning(cx, id)?;
    step.dispatch(cx, call, grid, meaning);
    Ok(())
}
