//! Dequantize: the blocks themselves, seen as the values that they stand for. Kernels that read blocks read them there;
//! for the others `LowerCx::at` decodes a param once, when weights are loaded.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use pumice_ir::NodeId;
use pumice_ir::ops::Dequantize;

impl Lower for Dequantize {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let at = cx.stored(node.input(0).ok_or("it has no operand")?)?;
        cx.place(node.output(), at);
        Ok(())
    }
}
