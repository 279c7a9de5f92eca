//! Softmax and log-softmax.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::rows::Rows;
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::Softmax;
use pumice_plan::HoleFill;
use pumice_plan::kernel::{Bound, CallBuilder};
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
    let axis = x.axis(axis)?;
    let y = cx.result(node.output())?;
    if x.is_empty() {
        return Ok(());
    }
    let space = Rows::of(&x.view.shape, axis..axis + 1);
    // Rounding to 16 bits is the epilogue's.
    let holes = crate::rows::rounding(cx.graph.ty(node.output()).dtype(), "epilogue")?;
    let mut step = StepBuilder::new();
    let (x, y) = (step.read(0, &x), step.write(&y));
    let kernel = if space.inner.is(1) { rows } else { columns };
    let (call, groups) = kernel(cx, &space, log, [x, y], holes)?;
    step.dispatch_node(cx, id, call, &groups)
}

fn rows(
    cx: &mut LowerCx<'_>,
    space: &Rows,
    log: bool,
    [x, y]: [Bound; 2],
    holes: Vec<HoleFill>,
) -> LowerResult<(CallBuilder, DimExpr)> {
    let symbols = cx.graph.symbols();
    let (rows, n) = (space.outer.upper(symbols), space.n.upper(symbols));
    let choice = cx.selection.softmax_rows.choose(rows, n, &cx.selection.rows, cx.target).ok_or(NO_KERNEL)?;
    let lanes = choice.number("lanes");
    let vec = cx.by_four(&space.n);
    let call = SoftmaxRows {
        variant: choice.variant.name,
        lanes,
        vec: u32::from(vec),
        log: u32::from(log),
        slot_cols: 0,
        rows: cx.arg(&space.outer),
        n: cx.arg(&space.n),
        x: x.along([space.n.clone()]),
        y,
        slots: Vec::new(),
        holes,
    };
    let groups = (&space.outer * u64::from(lanes)).ceil_div(&choice.roles.threads.into());
    Ok((call.into_call(), groups))
}

fn columns(
    cx: &mut LowerCx<'_>,
    space: &Rows,
    log: bool,
    [x, y]: [Bound; 2],
    holes: Vec<HoleFill>,
) -> LowerResult<(CallBuilder, DimExpr)> {
    let symbols = cx.graph.symbols();
    let all = &space.outer * &space.inner;
    let (upper, n) = (all.upper(symbols), space.n.upper(symbols));
    let columns = cx.selection.softmax_columns.columns(upper, n, cx.target);
    let call = SoftmaxColumns {
        variant: SoftmaxColumns::plain,
        columns,
        log: u32::from(log),
        outer: cx.arg(&space.outer),
        n: cx.arg(&space.n),
        inner: cx.arg(&space.inner),
        x,
        y,
        slots: Vec::new(),
        holes,
    };
    Ok((call.into_call(), all.ceil_div(&u64::from(columns).into())))
}
