//! `Fused`: the op of its body that is not elementwise decides which kernel takes the others in.

use super::{Lower, LowerResult, pointwise};
use crate::cx::LowerCx;
use pumice_ir::ops::Fused;
use pumice_ir::{Node, NodeId};

impl Lower for Fused {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let is_anchor = |n: &&Node| !n.op.is_leaf() && !n.op.is_elementwise();
        let mut anchors = self.body.nodes().map(|(_, n)| n).filter(is_anchor);
        match (anchors.next(), anchors.next()) {
            (None, _) => pointwise::lower_body(cx, id, &self.body),
            (Some(anchor), None) => super::lower_fused(cx, id, &self.body, anchor),
            (Some(a), Some(b)) => {
                let (a, b) = (a.op.name(), b.op.name());
                Err(format!("its body has two ops that are not elementwise: {a} and {b}").into())
            }
        }
    }
}
