//! `ExtentOf`: its value is a word of the frame, which the step of its row fills from the count.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::unplaced::UnplacedVersion;
use pumice_ir::ops::{ExtentOf, OpDef};
use pumice_ir::{Graph, NodeId, ValueId};
use pumice_plan::FrameSlot;
use pumice_types::{DType, SymbolId};

impl Lower for ExtentOf {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let symbol = self.finds().ok_or("its extent is no symbol")?;
        if cx.is_counted(symbol) {
            cx.place_in_frame(node.output(), FrameSlot::Expr(1u64.into()), Some(1u64.into()));
            return Ok(());
        }
        let held = node.input(0).ok_or("it has no count")?;
        let count = match count_before_its_report(cx.graph, id, symbol) {
            Some(given) if !is_overwritten(cx, given)? => cx.at(given)?,
            _ => cx.at(held)?,
        };
        let count = cx.word_of(&count, "the frame's kernel reads one word")?;
        cx.finds(symbol, count);
        cx.place_in_frame(node.output(), FrameSlot::Bound(symbol), Some(self.extent.clone()));
        Ok(())
    }
}

/// Whether a later version of a state, or the next turn of a loop, comes to lie where a value is. A row of two counts
/// may have to wait for what comes after that.
fn is_overwritten(cx: &mut LowerCx<'_>, value: ValueId) -> LowerResult<bool> {
    let version = cx.at(value)?.version;
    let of = |version: UnplacedVersion| cx.unplaced.versions[version.0 as usize].buffer;
    Ok(cx.unplaced.carried.iter().any(|&carried| of(carried) == of(version))
        || is_in_written_state(cx.graph, value))
}

/// Whether a value is the bytes of a state that the program writes.
fn is_in_written_state(graph: &Graph, value: ValueId) -> bool {
    let Some(version) = graph.shown_version(value) else { return false };
    let state = graph.state_of(version);
    let mut made = graph.nodes().flat_map(|(_, node)| graph.successions(node));
    made.any(|s| graph.state_of(s.previous) == state)
}

/// The count of a node that finds a symbol; where it is one that was held between 0 and the symbol's largest value, the
/// one before that: the step of the row holds it as well, and need not wait for the one that reports.
fn count_before_its_report(graph: &Graph, id: NodeId, symbol: SymbolId) -> Option<ValueId> {
    let count = graph.node(id).input(0)?;
    let (maker, most) = (graph.def(count), graph.symbols().get(symbol)?.max);
    let same = maker.op.holds_count().is_some_and(|held| u64::try_from(held) == Ok(most));
    match maker.input(0) {
        Some(given) if same && graph.ty(given).dtype() == DType::I32 => Some(given),
        _ => Some(count),
    }
}
