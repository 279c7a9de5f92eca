//! `Fused`: the op of its body that is not elementwise decides which kernel takes the others in.

use super::{Lower, LowerResult, pointwise};
use crate::cx::LowerCx;
use crate::fused_body::FusedBody;
use pumice_ir::ops::Fused;
use pumice_ir::{Node, NodeId, ValueId};
use pumice_opt::Side;

impl Lower for Fused {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let is_anchor = |n: &&Node| !n.op.is_leaf() && !n.op.is_elementwise();
        let mut anchors = self.body.nodes().map(|(_, n)| n).filter(is_anchor);
        match (anchors.next(), anchors.next()) {
            (None, _) => pointwise::lower_body(cx, id, &self.body),
            (Some(anchor), None) => around(cx, id, self, anchor),
            (Some(a), Some(b)) => {
                let (a, b) = (a.op.name(), b.op.name());
                Err(format!("its body has two ops that are not elementwise: {a} and {b}").into())
            }
        }
    }
}

/// Lowers a fused node around its anchor.
fn around(cx: &mut LowerCx<'_>, id: NodeId, op: &Fused, anchor: &Node) -> LowerResult {
    let hole = super::hole_of(&op.body, anchor);
    let hole = hole.ok_or_else(|| format!("no kernel of {} takes other nodes in", anchor.op.name()))?;
    let outer: Vec<ValueId> = cx.graph.node(id).operands().collect();
    let fused = match hole.anchor.side {
        Side::After => FusedBody::with_epilogue(&outer, &op.body, anchor),
        Side::Before => {
            let is_dense = |v: ValueId| cx.at(v).is_ok_and(|at| at.view.is_words() && at.view.is_dense());
            FusedBody::with_prologue(&outer, &op.body, anchor, is_dense)
        }
    };
    super::lower_fused(cx, id, &fused?, anchor)
}
