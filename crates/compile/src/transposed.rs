//! Copies that make another axis the innermost one, through tiles in shared memory.
//!
//! In: a strided view and a place of its extents, both of 32-bit words. Out: a `transpose` step, or none where the
//! elementwise copy does as well. Never here: elements that are stored narrow or wide, conversions of storage.

use crate::cx::{LowerCx, LowerResult};
use crate::elementwise::{collapse, slot};
use crate::meaning::StepMeaning;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::shape::product;
use pumice_plan::View;
use pumice_plan::kernel::SlotKind;
use pumice_plan::kernels::copy::{TILE, Transpose};
use pumice_types::DimExpr;

/// A copy as y\[b, c, r\] = x\[b, r, c\], with strides in words; x is contiguous along c, y along r.
struct Transposition {
    batch: DimExpr,
    rows: DimExpr,
    columns: DimExpr,
    x_batch: DimExpr,
    x_row: DimExpr,
    y_batch: DimExpr,
    y_row: DimExpr,
}

/// Adds the copy as a `transpose` step where that kernel takes it and pays; says whether it did. `meaning` is that of
/// the copy.
///
/// # Errors
/// More elements than kernels count, more workgroups than a grid has.
pub fn copy(
    cx: &mut LowerCx<'_>,
    from: &PlacedView,
    to: &PlacedView,
    meaning: &StepMeaning,
) -> LowerResult<bool> {
    let Some(m) = matrices(&from.view, &to.view)? else { return Ok(false) };
    let symbols = cx.graph.symbols();
    let (along_x, along_y) = (m.columns.upper(symbols), m.rows.upper(symbols));
    let best = cx.selection.elementwise.transposed(along_x, along_y, cx.target);
    let Some(choice) = best.filter(|_| !m.batch.is(0)) else { return Ok(false) };
    let extents = [m.batch.clone(), m.rows.clone(), m.columns.clone()];
    cx.fits_u32(&product(&extents), "the result")?;
    let tiles = |extent: &DimExpr| extent.ceil_div(&DimExpr::constant(TILE as i64));
    let grid = cx.grid(&(tiles(&m.columns) * tiles(&m.rows) * &m.batch))?;
    let mut step = StepBuilder::new();
    let call = Transpose {
        variant: choice.variant.name,
        batch: cx.arg(&m.batch),
        rows: cx.arg(&m.rows),
        cols: cx.arg(&m.columns),
        x: step.read(0, from).along([m.x_batch, m.x_row]),
        y: step.write(to).along([m.y_batch, m.y_row]),
        slots: Vec::new(),
        holes: Vec::new(),
    };
    step.dispatch(cx, call.into_call(), grid, meaning.clone())?;
    Ok(true)
}

/// The copy as transposed matrices, if it is one once axes are merged that both sides walk as one.
fn matrices(from: &View, to: &View) -> LowerResult<Option<Transposition>> {
    let slots = [slot(from, &to.shape)?, slot(to, &to.shape)?];
    let words = slots.iter().all(|s| s.kind == SlotKind::Word);
    let space = collapse(&to.shape, &slots);
    let rank = space.shape.len();
    if !words || !slots[1].offset.is(0) || !(2..=3).contains(&rank) {
        return Ok(None);
    }
    let (x, y, rows) = (&space.strides[0], &space.strides[1], rank - 1);
    // Along an axis that the source repeats or walks in order, the elementwise copy has nothing to gain.
    if !y[rows].is(1) || x[rows].is(0) || x[rows].is(1) {
        return Ok(None);
    }
    let Some(columns) = (0..rows).rev().find(|&axis| x[axis].is(1)) else { return Ok(None) };
    let batch = (0..rows).find(|&axis| axis != columns);
    let of_batch = |list: &[DimExpr], none: i64| batch.map_or(DimExpr::constant(none), |b| list[b].clone());
    Ok(Some(Transposition {
        batch: of_batch(&space.shape, 1),
        rows: space.shape[rows].clone(),
        columns: space.shape[columns].clone(),
        x_batch: of_batch(x, 0),
        x_row: x[rows].clone(),
        y_batch: of_batch(y, 0),
        y_row: y[columns].clone(),
    }))
}
