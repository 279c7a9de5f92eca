//! First or last extremum along an axis.

use super::LowerResult;
use crate::cx::LowerCx;
use crate::rows::Rows;
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_plan::kernels::reduce::ArgReduce;
use pumice_types::DType;

/// Lowers an arg-max (`min` false) or arg-min along an axis.
pub fn lower(cx: &mut LowerCx<'_>, id: NodeId, axis: i64, last: bool, min: bool) -> LowerResult {
    let node = cx.graph.node(id);
    let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
    let axis = x.axis(axis)?;
    let y = cx.result(node.output())?;
    if y.is_empty() {
        return Ok(());
    }
    let space = Rows::of(&x.view.shape, axis..axis + 1);
    Extremum { kind: key_kind(x.view.dtype), min, last, space }.emit(cx, id, &x, &y)
}

/// How kernels compare elements.
pub(super) fn key_kind(dtype: DType) -> u32 {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => 0,
        DType::I8 | DType::I16 | DType::I32 => 1,
        DType::I64 => 3,
        DType::U64 => 4,
        _ => 2,
    }
}

/// Which element of which axis is looked for.
struct Extremum {
    kind: u32,
    min: bool,
    last: bool,
    space: Rows,
}

impl Extremum {
    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId, x: &PlacedView, y: &PlacedView) -> LowerResult {
        let (symbols, space) = (cx.graph.symbols(), &self.space);
        let quads = space.inner.is(1) && self.kind < 3 && cx.by_four(&space.n);
        let outputs = &space.outer * &space.inner;
        let (upper, n) = (outputs.upper(symbols), space.n.upper(symbols));
        let choice = cx.selection.reduce.arg(upper, n, quads, cx.target).ok_or(NO_KERNEL)?;
        let lanes = choice.number("lanes");
        let mut step = StepBuilder::new();
        let call = ArgReduce {
            variant: choice.variant.name,
            kind: self.kind,
            min: u32::from(self.min),
            last: u32::from(self.last),
            wide: u32::from(y.view.dtype.arena_bytes() == 8),
            lanes,
            vec: u32::from(quads),
            outputs: cx.arg(&outputs),
            n: cx.arg(&space.n),
            inner: cx.arg(&space.inner),
            x: step.read(0, x),
            y: step.write(y),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(
            cx,
            id,
            call.into_call(),
            &(outputs * u64::from(lanes)).ceil_div(&choice.roles.threads.into()),
        )
    }
}
