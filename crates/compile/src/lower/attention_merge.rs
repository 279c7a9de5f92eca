//! The parts of an attention as one result.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::ops::AttentionMerge;
use pumice_ir::shape::product;
use pumice_ir::{Node, NodeId};
use pumice_plan::kernel::{Bound, CallBuilder};
use pumice_plan::kernels::attention::{AttentionMerge as Call, AttentionMergeExtended as Extended};

impl Lower for AttentionMerge {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
        let y = cx.result(node.output())?;
        let further = Further::of(cx, node)?;
        if y.is_empty() {
            return Ok(());
        }
        cx.fits_u32(&product(&x.view.shape), "its operand")?;
        let axes = self.layout.axes();
        let strides = [axes[0], axes[1], axes[2]].map(|a| y.view.strides[a].clone());
        let mut step = StepBuilder::new();
        let parts = step.read(0, &x);
        let merged = step.write(&y).along(strides);
        let bound = further.bind(&mut step, &parts, &merged);
        let call = call(cx, self, [(&x, parts), (&y, merged)])?;
        let [batches, hq, sq] = [0, 1, 2].map(|i| x.view.shape[i].clone());
        step.dispatch_node(cx, id, bound.into_iter().fold(call, further_call), &(batches * hq * sq))
    }
}

/// The call without sinks and sums, of the parts and the result.
fn call(
    cx: &mut LowerCx<'_>,
    op: &AttentionMerge,
    [(parts, x), (merged, y)]: [(&PlacedView, Bound); 2],
) -> LowerResult<CallBuilder> {
    let width = merged.view.shape[op.layout.axes()[3]].as_extent();
    let width = width.filter(|n| n.is_multiple_of(4) && *n <= 256);
    let width = width.ok_or("a width of its result that is no multiple of four up to 256")?;
    let [batches, hq, sq, number] = [0, 1, 2, 3].map(|i| cx.arg(&parts.view.shape[i]));
    let call = Call {
        variant: Call::plain,
        quads: (width / 4).next_power_of_two() as u32,
        batches,
        hq,
        sq,
        parts: number,
        dv: cx.arg(&width.into()),
        x,
        y,
        slots: Vec::new(),
        holes: Vec::new(),
    };
    Ok(call.into_call())
}

/// A sink of each head, and where the logarithms of the sums go.
struct Further {
    sinks: Option<PlacedView>,
    lse: Option<PlacedView>,
}

/// The kernel's operands for them, and which of them are something of their own.
struct BoundFurther {
    sinks: Bound,
    lse: Bound,
    with: [bool; 2],
}

impl Further {
    fn of(cx: &mut LowerCx<'_>, node: &Node) -> LowerResult<Further> {
        let sinks = node.input(1).map(|v| cx.dense(v)).transpose()?;
        let lse = node.outputs.get(1).map(|&v| cx.result(v)).transpose()?;
        Ok(Further { sinks, lse })
    }

    fn bind(&self, step: &mut StepBuilder, x: &Bound, y: &Bound) -> Option<BoundFurther> {
        let with = [self.sinks.is_some(), self.lse.is_some()];
        let sinks = self.sinks.as_ref().map_or(x.unread(), |at| step.read(1, at));
        let lse = self.lse.as_ref().map_or(y.unread(), |at| step.write(at));
        with.contains(&true).then_some(BoundFurther { sinks, lse, with })
    }
}

/// The call of the kernel that takes them.
fn further_call(call: CallBuilder, BoundFurther { sinks, lse, with }: BoundFurther) -> CallBuilder {
    let [with_sinks, with_lse] = with.map(u32::from);
    let call = call.of(&Extended::DECL, Extended::plain).operand("sinks", sinks).operand("lse", lse);
    call.constant("with_sinks", with_sinks).constant("with_lse", with_lse)
}
