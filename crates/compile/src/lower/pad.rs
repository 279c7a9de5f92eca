//! Borders that reflect, repeat or go on with an axis: one step for one axis or two, which computes where each element
//! comes from. Constant borders are joined parts (`OpDef::expand`).

use super::Lower;
use super::two_axes::TwoAxes;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::Pad;
use pumice_ir::ops::pad::{AxisPad, PadMode};
use pumice_plan::kernels::copy::{Borders, LINES, border};
use pumice_types::DimExpr;

impl Lower for Pad {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let x = cx.dense(cx.graph.node(id).input(0).ok_or("it has no operand")?)?;
        let y = cx.result(cx.graph.node(id).output())?;
        let mode = mode_of(self.mode).ok_or("constant borders are joined parts")?;
        if y.is_empty() {
            return Ok(());
        }
        let (axes, before) = padded(self, x.view.shape.len())?;
        let of = TwoAxes::of(cx, [&x, &y], &axes)?;
        let mut step = StepBuilder::new();
        let call = Borders {
            variant: Borders::plain,
            mode,
            outer: cx.arg(&of.outer),
            axis: cx.args(&of.axis)?,
            mid: cx.arg(&of.mid),
            inner: cx.arg(&of.inner),
            made: cx.args(&of.made)?,
            before: cx.args(&before)?,
            x: step.read(0, &x),
            y: step.write(&y),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(cx, id, call.into_call(), &of.groups(LINES))
    }
}

/// The axes that get a border, and what stands before each: before the last of them, and the one before it.
fn padded(op: &Pad, rank: usize) -> LowerResult<(Vec<usize>, [DimExpr; 2])> {
    let mut sides = op.sides(rank).map_err(|e| e.to_string())?;
    sides.retain(AxisPad::adds);
    sides.sort_by_key(|side| side.axis);
    let mut before = sides.iter().rev().map(|side| DimExpr::constant(side.before));
    let last = before.next().unwrap_or_default();
    let first = before.next().unwrap_or_default();
    Ok((sides.iter().map(|side| side.axis).collect(), [first, last]))
}

fn mode_of(mode: PadMode) -> Option<u32> {
    match mode {
        PadMode::Constant => None,
        PadMode::Reflect => Some(border::REFLECT),
        PadMode::Edge => Some(border::EDGE),
        PadMode::Wrap => Some(border::WRAP),
    }
}
