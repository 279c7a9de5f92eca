//! Rows of the frame that steps of the program fill: extents that are found while it runs, and what follows from them.
//!
//! A row belongs to a set of found symbols. The kernel `frame_find` makes all of its words from the counts that other
//! kernels left, one for each symbol, and from words that the host wrote. So rows do not read each other, and what
//! follows from two symbols waits for both.

use super::{AdvanceKind, AdvanceOp, arithmetic};
use pumice_types::SymbolId;
use serde::{Deserialize, Serialize};

/// The bit of an operand that says that it is a word of the row, not one that the host wrote.
pub const OF_ROW: u32 = 1 << 31;
/// The most symbols that a row follows from.
pub const MOST_COUNTS: usize = 4;

/// Words that follow from found symbols.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundRow {
    /// The symbols, ascending; count `k` of the program is that of symbol `k`.
    pub symbols: Vec<SymbolId>,
    /// The first of its words.
    pub first: u32,
    /// How many there are: a multiple of four.
    pub len: u32,
    /// What fills them.
    pub program: FindProgram,
}

/// Instructions over a row. Each writes a word of the row, counted from its first. Operands with [`OF_ROW`] are words
/// of the row, others words that the host wrote, counted from the frame's base; of `Count`, `a` says which count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindProgram {
    /// In order.
    pub ops: Vec<AdvanceOp>,
}

impl FoundRow {
    /// The word after its last.
    pub fn end(&self) -> u32 {
        self.first.saturating_add(self.len)
    }
}

impl FindProgram {
    /// Runs over a row, as the kernel does. What is not there is 0; a count below 0 is taken for 0, and one above the
    /// literal, which the checker has seen to be below 2³¹, for it.
    pub fn run(&self, row: &mut [u32], base: &[u32], counts: &[i32]) {
        for op in &self.ops {
            let get = |at: u32| {
                let words: &[u32] = if at & OF_ROW == 0 { base } else { row };
                words.get((at & !OF_ROW) as usize).map_or(0, |&w| w as i32)
            };
            let value = match op.op {
                AdvanceKind::Const => op.a as i32,
                AdvanceKind::Copy => get(op.a),
                AdvanceKind::Count => counts.get(op.a as usize).map_or(0, |&c| c.min(op.b as i32).max(0)),
                kind => arithmetic(kind, get(op.a), get(op.b)),
            };
            if let Some(word) = row.get_mut(op.dst.0 as usize) {
                *word = value as u32;
            }
        }
    }
}
