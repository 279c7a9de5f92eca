//! What few attentions have besides: a place of the first query, sinks, ALiBi, the logarithm of the sum as a result.

use super::LowerResult;
use super::attention::{Count, count};
use crate::cx::LowerCx;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::Node;
use pumice_ir::ops::Attention;
use pumice_ir::ops::attention::{ALIBI, OFFSET, SINKS};
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder};
use pumice_plan::kernels::attention::place;

/// Where it lies.
pub(super) struct Extension {
    offset: Option<Count>,
    sinks: Option<PlacedView>,
    alibi: Option<PlacedView>,
    lse: Option<PlacedView>,
}

/// The kernel's operands.
pub(super) struct BoundExtension {
    offsets: Bound,
    sinks: Bound,
    alibi: Bound,
    lse: Bound,
}

impl Extension {
    /// Of a node; none where it has nothing of it.
    pub(super) fn of(cx: &mut LowerCx<'_>, node: &Node, op: &Attention) -> LowerResult<Option<Extension>> {
        let offset = node.input(OFFSET).map(|v| count(cx, v)).transpose()?;
        let sinks = node.input(SINKS).map(|v| cx.dense(v)).transpose()?;
        let alibi = node.input(ALIBI).map(|v| cx.dense(v)).transpose()?;
        let lse = node.outputs.get(1).filter(|_| op.lse).map(|&v| cx.result(v)).transpose()?;
        let some = offset.is_some() || sinks.is_some() || alibi.is_some() || lse.is_some();
        Ok(some.then_some(Extension { offset, sinks, alibi, lse }))
    }

    /// Whether no sum is to be written.
    pub(super) fn makes_nothing(&self) -> bool {
        self.lse.as_ref().is_none_or(|at| at.is_empty())
    }

    /// Binds it after everything else. What the kernel does not read is the queries, what it does not write the result.
    pub(super) fn bind(&self, step: &mut StepBuilder, q: &Bound, y: &Bound) -> BoundExtension {
        let offsets = self.offset.as_ref().map(|o| (step.read(OFFSET, &o.at), o.expr.is_none()));
        let offsets = offsets.and_then(|(bound, is_read)| is_read.then_some(bound));
        let sinks = self.sinks.as_ref().map(|at| step.read(SINKS, at));
        let alibi = self.alibi.as_ref().map(|at| step.read(ALIBI, at));
        let lse = self.lse.as_ref().map(|at| step.write(at));
        BoundExtension {
            offsets: offsets.unwrap_or(q.unread()),
            sinks: sinks.unwrap_or(q.unread()),
            alibi: alibi.unwrap_or(q.unread()),
            lse: lse.unwrap_or(y.unread()),
        }
    }

    /// The call of the kernel that takes it.
    pub(super) fn call(&self, cx: &mut LowerCx<'_>, call: CallBuilder, bound: BoundExtension) -> CallBuilder {
        let (place, per_batch, offset) = place_of(cx, self.offset.as_ref());
        call.constant("place", place)
            .constant("with_sinks", self.sinks.is_some().into())
            .constant("with_alibi", self.alibi.is_some().into())
            .constant("with_lse", self.lse.is_some().into())
            .own("first_place", offset)
            .own("first_place_b", per_batch)
            .operand("offsets", bound.offsets)
            .operand("sinks", bound.sinks)
            .operand("alibi", bound.alibi)
            .operand("lse", bound.lse)
    }
}

/// Where the kernel finds the first queries' places, whether each batch has its own, and what the frame knows of it.
pub(super) fn place_of(cx: &mut LowerCx<'_>, offset: Option<&Count>) -> (u32, ArgValue, ArgValue) {
    let per_batch = ArgValue::U32(offset.is_some_and(|o| o.per_batch).into());
    match offset.map(|o| &o.expr) {
        None => (place::NONE, per_batch, ArgValue::ZERO),
        Some(None) => (place::OPERAND, per_batch, ArgValue::ZERO),
        Some(Some(expr)) => (place::ARG, per_batch, cx.arg(expr)),
    }
}
