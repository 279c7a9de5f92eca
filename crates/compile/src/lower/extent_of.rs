//! `ExtentOf`: its value is a word of the frame, which the step of its row fills from the count.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use pumice_ir::NodeId;
use pumice_ir::ops::{ExtentOf, OpDef};
use pumice_plan::FrameSlot;

impl Lower for ExtentOf {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let symbol = self.finds().ok_or("its extent is no symbol")?;
        let count = cx.at(node.input(0).ok_or("it has no count")?)?;
        let count = cx.word_of(&count, "the frame's kernel reads one word of scratch")?;
        cx.finds(symbol, count);
        cx.place_in_frame(node.output(), FrameSlot::Bound(symbol), Some(self.extent.clone()));
        Ok(())
    }
}
