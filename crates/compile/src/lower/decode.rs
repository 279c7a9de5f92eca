//! Decoding ops over weights: the stored bytes themselves, seen as the values that they stand for. Kernels that read
//! that encoding read it there; for the others a copy is made once, when weights are loaded.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::Dequantize;
use pumice_plan::{Storage, View};
use pumice_types::Encoding;

impl Lower for Dequantize {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let at = cx.stored(node.input(0).ok_or("it has no operand")?)?;
        cx.place(node.output(), at);
        Ok(())
    }
}

/// Places the result of a node that widens a stored weight on its bytes; false where it does something else. What a run
/// computes is widened by a step: its bytes are written again.
pub fn place(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult<bool> {
    let node = cx.graph.node(id);
    let Some(x) = node.input(0) else { return Ok(false) };
    let encoding = cx.graph.ty(x).encoding;
    if !node.op.is_decoding(encoding) {
        return Ok(false);
    }
    let at = cx.stored(x)?;
    let stays = cx.unplaced.buffer_of(at.version).class.is_load_time();
    if !stays || at.view.storage != Storage::Natural {
        return Ok(false);
    }
    let values = seen_as(&at, encoding, cx.graph.ty(node.output()).dtype());
    cx.place(node.output(), values);
    Ok(true)
}

fn seen_as(at: &PlacedView, encoding: Encoding, dtype: pumice_types::DType) -> PlacedView {
    let view = View { dtype, storage: Storage::Encoded(encoding), ..View::clone(&at.view) };
    PlacedView { version: at.version, part: at.part, view: view.into() }
}
