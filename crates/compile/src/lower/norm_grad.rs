//! The gradient of a norm by what it normalizes, over a suffix of the axes: alone or with the elementwise nodes that
//! follow it.

use super::anchor::Hole;
use super::norm::{contiguous, row_stride, walks};
use super::{Lower, LowerResult};
use crate::cx::{LowerCx, node_meaning};
use crate::fused_body::FusedBody;
use crate::hole::Filled;
use crate::rows::Rows;
use crate::select::NO_KERNEL;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::NormGrad;
use pumice_ir::{Graph, Node, NodeId};
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder, HoleFill};
use pumice_plan::kernels::norm_grad::NormGrad as Kernel;
use pumice_plan::{Access, View};
use pumice_types::{DimExpr, slots};

impl Lower for NormGrad {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        self.lower_fused(cx, id, &FusedBody::alone(cx, id))
    }

    /// What follows the gradient of rows along the last axis, where there are no statistics besides.
    fn hole(&self, graph: &Graph, node: &Node) -> Option<Hole> {
        let rank = graph.ty(node.input(0)?).rank();
        let last = normalize_axis(self.axis, rank).is_ok_and(|a| a + 1 == rank);
        (last && !self.statistics).then(|| Hole::after("norm_grad", slots::PRODUCT, walks))
    }

    fn lower_fused(&self, cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>) -> LowerResult {
        let operands = [cx.dense(fused.operand(0)?)?, cx.dense(fused.operand(1)?)?];
        let factor = fused.optional(2).map(|v| cx.dense(v)).transpose()?;
        let reads = fused.extra.iter().map(|&v| contiguous(cx, v)).collect::<LowerResult<Vec<_>>>()?;
        let outputs = cx.graph.node(id).outputs.iter();
        let results = outputs.map(|&v| cx.result(v)).collect::<LowerResult<Vec<_>>>()?;
        if results.iter().all(PlacedView::is_empty) {
            return Ok(());
        }
        let axis = operands[0].axis(self.axis)?;
        let (statistics, stored) = results[1..].split_at(if self.statistics { results.len() - 1 } else { 0 });
        let hole = Filled::new(fused.epilogue(false)?, reads, stored);
        let step = GradStep { op: self, axis, operands, factor, y: &results[0], statistics, hole };
        step.emit(cx, id, fused)
    }
}

/// A step over rows.
struct GradStep<'a> {
    op: &'a NormGrad,
    axis: usize,
    /// x and dy.
    operands: [PlacedView; 2],
    factor: Option<PlacedView>,
    y: &'a PlacedView,
    /// The mean, if it is taken off, and the inverse deviation; none where they are no results.
    statistics: &'a [PlacedView],
    hole: Filled,
}

impl GradStep<'_> {
    fn emit(self, cx: &mut LowerCx<'_>, id: NodeId, fused: &FusedBody<'_>) -> LowerResult {
        let shape = &self.operands[0].view.shape;
        let (rank, axis) = (shape.len(), self.axis);
        let space = Rows::of(shape, axis..rank);
        let mut step = StepBuilder::new();
        let [x, dy] = [0, 1].map(|i| step.touch(&self.operands[i], Access::ShaderRead));
        let factor = self.factor.as_ref().map(|at| step.touch(at, Access::ShaderRead));
        let operands: Vec<&Bound> = [&x, &dy].into_iter().chain(&factor).collect();
        let along = |_: usize, view: &View| Ok(vec![row_stride(view, rank, axis, &space.n)]);
        let (y, slots) = step.through(&self.hole, &operands, self.y, &fused.names, along)?;
        let statistics: Vec<Bound> = self.statistics.iter().map(|at| step.write(at)).collect();
        let [mean, inverse] = self.statistics_bound(&statistics, &y);
        let x = x.along([space.n.clone()]);
        let bound = BoundOperands { factor, x, dy, y, mean, inverse, slots };
        let (call, groups) = self.call(cx, &space, bound)?;
        let grid = cx.grid(&groups)?;
        let meaning = node_meaning(cx, id)?;
        step.dispatch(cx, call, grid, meaning)
    }

    /// Mean and inverse deviation; what is no result is bound to y.
    fn statistics_bound(&self, statistics: &[Bound], y: &Bound) -> [Bound; 2] {
        let mean = statistics.first().filter(|_| self.op.centred);
        [mean, statistics.last()].map(|at| at.map_or_else(|| y.unread(), Bound::clone))
    }

    /// The call and its groups.
    fn call(
        &self,
        cx: &mut LowerCx<'_>,
        space: &Rows,
        BoundOperands { x, dy, factor, y, mean, inverse, slots }: BoundOperands,
    ) -> LowerResult<(CallBuilder, DimExpr)> {
        let n = space.n.upper(cx.graph.symbols());
        let choice = cx.selection.rows.choose(&Kernel::DECL, n, cx.target).ok_or(NO_KERNEL)?;
        let lanes = choice.number("lanes");
        let holes: Vec<HoleFill> = self.hole.fill.iter().cloned().collect();
        let call = Kernel {
            variant: choice.variant.name,
            lanes,
            vec: u32::from(cx.by_four(&space.n) && self.slots_by_four(cx)),
            scaled: u32::from(factor.is_some()),
            // Every slot has the columns of the rows.
            slot_cols: (1 << slots.len()) - 1,
            centred: u32::from(self.op.centred),
            statistics: u32::from(self.op.statistics),
            rows: cx.arg(&space.outer),
            n: cx.arg(&space.n),
            eps: ArgValue::f32(self.op.epsilon),
            g: factor.unwrap_or(x.unread()),
            x,
            dy,
            y,
            mean,
            inverse,
            slots,
            holes,
        };
        let groups = (&space.outer * u64::from(lanes)).ceil_div(&choice.roles.threads.into());
        Ok((call.into_call(), groups))
    }

    /// Whether what the hole reads begins at a multiple of four elements.
    fn slots_by_four(&self, cx: &LowerCx<'_>) -> bool {
        self.hole.slots[..self.hole.operands].iter().all(|at| cx.by_four(&at.view.offset))
    }
}

/// The operands of the kernel; what it does not touch is bound again.
struct BoundOperands {
    x: Bound,
    dy: Bound,
    factor: Option<Bound>,
    y: Bound,
    mean: Bound,
    inverse: Bound,
    slots: Vec<Bound>,
}
