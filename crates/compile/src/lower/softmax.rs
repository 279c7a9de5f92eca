//! Softmax and log-softmax.

use super::{Lower, LowerResult};
use crate::cx::{LowerCx, node_meaning};
use crate::draft::Located;
use crate::rows::Rows;
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::Softmax;
use pumice_plan::kernels::softmax::{SoftmaxColumns, SoftmaxRows};
use pumice_types::DimExpr;

impl Lower for Softmax {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        lower(cx, id, self.axis, false)
    }
}

/// Lowers a softmax (or log-softmax) along one axis.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId, axis: i64, log: bool) -> LowerResult {
    let node = cx.graph.node(id);
    let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
    let axis = normalize_axis(axis, x.view.shape.len()).map_err(|e| e.to_string())?;
    let y = cx.result(node.output())?;
    if x.view.shape.iter().any(|d| d.is(0)) {
        return Ok(());
    }
    let space = Rows::of(&x.view.shape, axis..axis + 1);
    // Rounding to 16 bits is the epilogue's.
    let dtype = cx.graph.ty(node.output()).dtype();
    let epilogue = crate::rows::rounding(dtype, "epilogue")?;
    if space.inner.is(1) {
        rows(cx, id, &x, &y, &space, log, epilogue)
    } else {
        columns(cx, id, &x, &y, &space, log, epilogue)
    }
}

fn rows(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    x: &Located,
    y: &Located,
    space: &Rows,
    log: bool,
    holes: Vec<pumice_plan::HoleFill>,
) -> LowerResult {
    let symbols = cx.graph.symbols();
    let (variant, lanes) = crate::rows::row_variant(cx, &space.n);
    let vec = u32::from(space.n.divisor(symbols).is_multiple_of(4));
    let mut step = StepBuilder::new();
    let call = SoftmaxRows {
        variant,
        lanes,
        vec,
        log: u32::from(log),
        rows: cx.arg(&space.outer),
        n: cx.arg(&space.n),
        x_row: cx.arg(&space.n),
        slot_cols: 0,
        slot_offset: Default::default(),
        slot_row: Default::default(),
        x: step.read(x),
        y: step.write(y),
        slots: Vec::new(),
        holes,
    };
    let groups = (space.outer.clone() * u64::from(lanes).into()).ceil_div(&DimExpr::constant(256));
    let grid = cx.grid(&groups)?;
    let meaning = node_meaning(cx, id)?;
    step.dispatch(cx, call.into_call(), grid, meaning);
    Ok(())
}

fn columns(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    x: &Located,
    y: &Located,
    space: &Rows,
    log: bool,
    holes: Vec<pumice_plan::HoleFill>,
) -> LowerResult {
    let mut step = StepBuilder::new();
    let call = SoftmaxColumns {
        variant: SoftmaxColumns::plain,
        log: u32::from(log),
        outer: cx.arg(&space.outer),
        n: cx.arg(&space.n),
        inner: cx.arg(&space.inner),
        slot_offset: Default::default(),
        slot_outer: Default::default(),
        slot_row: Default::default(),
        slot_col: Default::default(),
        x: step.read(x),
        y: step.write(y),
        slots: Vec::new(),
        holes,
    };
    let columns = space.outer.clone() * space.inner.clone();
    let grid = cx.grid(&columns.ceil_div(&DimExpr::constant(256)))?;
    let meaning = node_meaning(cx, id)?;
    step.dispatch(cx, call.into_call(), grid, meaning);
    Ok(())
}
