//! Random numbers: one step.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::RandomNumbers;
use pumice_ir::ops::random_numbers::RandomKind;
use pumice_ir::shape::product;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::random::{BLOCK, RandomNumbers as Kernel, distribution};
use pumice_types::DimExpr;

impl Lower for RandomNumbers {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let y = cx.result(cx.graph.node(id).output())?;
        if y.is_empty() {
            return Ok(());
        }
        cx.fits_u32(&product(&y.view.shape), "the result")?;
        let source = [source(cx, id, 0)?, source(cx, id, 1)?, source(cx, id, 2)?];
        emit(self, cx, id, &source, &y)
    }
}

fn source(cx: &mut LowerCx<'_>, id: NodeId, operand: usize) -> LowerResult<PlacedView> {
    let v = cx.graph.node(id).input(operand).ok_or("it has no source")?;
    cx.dense(v)
}

/// Rows that have a source each, and numbers of a row: all are one row's where the source has no axis.
fn rows(shape: &[DimExpr], by_row: u32) -> (DimExpr, DimExpr) {
    match shape.split_first() {
        Some((rows, of_row)) if by_row != 0 => (rows.clone(), product(of_row)),
        _ => (DimExpr::constant(1), product(shape)),
    }
}

fn distribution_of(kind: RandomKind) -> u32 {
    match kind {
        RandomKind::Words => distribution::WORDS,
        RandomKind::Uniform => distribution::UNIFORM,
        RandomKind::Normal => distribution::NORMAL,
    }
}

fn emit(
    op: &RandomNumbers,
    cx: &mut LowerCx<'_>,
    id: NodeId,
    source: &[PlacedView; 3],
    y: &PlacedView,
) -> LowerResult {
    let rank = |k: usize| source[k].view.shape.len() as u32;
    let by_row = rank(0) | rank(1) << 1 | rank(2) << 2;
    let (rows, n) = rows(&y.view.shape, by_row);
    let mut step = StepBuilder::new();
    let [seed_low, seed_high, of_step] = [0, 1, 2].map(|k| step.read(k, &source[k]));
    let call = Kernel {
        variant: Kernel::plain,
        distribution: distribution_of(op.kind),
        by_row,
        vec: u32::from(cx.by_four(&n)),
        rows: cx.arg(&rows),
        n: cx.arg(&n),
        stream: ArgValue::U32(op.stream as u32),
        seed_low,
        seed_high,
        step: of_step,
        y: step.write(y),
        slots: Vec::new(),
        holes: Vec::new(),
    };
    let blocks = &rows * &n.ceil_div(&BLOCK.into());
    step.dispatch_node(cx, id, call.into_call(), &blocks.ceil_div(&256.into()))
}
