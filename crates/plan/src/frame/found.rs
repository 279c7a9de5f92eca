//! Rows of the frame that steps of the program fill: extents that are found while it runs, and what follows from them.
//!
//! A row belongs to a set of found symbols. The kernel `frame_find` makes all of its words from the counts that other
//! kernels left, one for each symbol, and from words that the host wrote. So rows do not read each other, and what
//! follows from two symbols waits for both.

use super::{AdvanceKind, AdvanceOp, arithmetic};
use pumice_types::SymbolId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The bit of an operand that says that it is a word of the row, not one that the host wrote.
pub const OF_ROW: u32 = 1 << 31;

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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FindProgram {
    ops: Vec<AdvanceOp>,
    /// As the kernel takes them, once someone asked.
    #[serde(skip)]
    words: OnceLock<Box<[u32]>>,
}

impl PartialEq for FindProgram {
    fn eq(&self, other: &FindProgram) -> bool {
        self.ops == other.ops
    }
}

impl Eq for FindProgram {}

/// The bit of an opcode above which its wave stands.
const WAVE_SHIFT: u32 = 8;

impl FindProgram {
    /// Of these instructions, in their order.
    pub fn new(ops: Vec<AdvanceOp>) -> FindProgram {
        FindProgram { ops, words: OnceLock::new() }
    }

    /// The instructions, in their order.
    pub fn ops(&self) -> &[AdvanceOp] {
        &self.ops
    }

    /// The instructions as the kernel takes them, four words each: opcode and wave, dst, a, b. Those of a wave do not
    /// know each other: none reads or writes what another one writes. Waves ascend. They are sorted once.
    pub fn words(&self) -> &[u32] {
        self.words.get_or_init(|| {
            let mut in_waves: Vec<(u32, &AdvanceOp)> = self.waves().zip(&self.ops).collect();
            in_waves.sort_by_key(|(wave, _)| *wave);
            let words =
                |(wave, op): (u32, &AdvanceOp)| [op.op as u32 | wave << WAVE_SHIFT, op.dst.0, op.a, op.b];
            in_waves.into_iter().flat_map(words).collect()
        })
    }

    /// The wave of each instruction: after those that write what it reads or writes, or read what it writes.
    fn waves(&self) -> impl Iterator<Item = u32> {
        // For each word of the row, the wave after the last one that did so.
        let (mut written, mut read) = (BTreeMap::new(), BTreeMap::new());
        self.ops.iter().map(move |op| {
            let after = |waves: &BTreeMap<u32, u32>, word: u32| waves.get(&word).copied().unwrap_or(0);
            let operands = op.of_row();
            let ready = operands.iter().flatten().map(|&word| after(&written, word)).max().unwrap_or(0);
            let wave = ready.max(after(&written, op.dst.0)).max(after(&read, op.dst.0));
            operands.into_iter().flatten().for_each(|word| raise(&mut read, word, wave + 1));
            raise(&mut written, op.dst.0, wave + 1);
            wave
        })
    }

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

/// What is there for a word is at least this.
fn raise(waves: &mut BTreeMap<u32, u32>, word: u32, least: u32) {
    let wave = waves.entry(word).or_insert(least);
    *wave = (*wave).max(least);
}

impl AdvanceOp {
    /// The words of its row that an instruction of a row reads.
    fn of_row(&self) -> [Option<u32>; 2] {
        let of_row = |at: u32| (at & OF_ROW != 0).then_some(at & !OF_ROW);
        match self.op {
            AdvanceKind::Const | AdvanceKind::Count => [None; 2],
            AdvanceKind::Copy => [of_row(self.a), None],
            _ => [self.a, self.b].map(of_row),
        }
    }
}

impl FoundRow {
    /// The word after its last.
    pub fn end(&self) -> u32 {
        self.first.saturating_add(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameWord;

    fn op(op: AdvanceKind, dst: u32, a: u32, b: u32) -> AdvanceOp {
        AdvanceOp { op, dst: FrameWord(dst), a, b }
    }

    /// As the kernel does: all of a wave read before any of it writes.
    fn run_in_waves(program: &FindProgram, row: &mut [u32], base: &[u32], counts: &[i32]) {
        let (words, rest) = program.words().as_chunks::<4>();
        let wave = |words: &[u32; 4]| words[0] >> WAVE_SHIFT;
        assert!(rest.is_empty() && words.is_sorted_by_key(wave));
        for of_wave in words.chunk_by(|a, b| wave(a) == wave(b)) {
            let before = row.to_vec();
            for words in of_wave {
                let is = |op: &&AdvanceOp| {
                    [op.op as u32, op.dst.0, op.a, op.b] == [words[0] & 255, words[1], words[2], words[3]]
                };
                let op = program.ops.iter().find(is).expect("an instruction of the program");
                let mut after = before.clone();
                FindProgram::new(vec![*op]).run(&mut after, base, counts);
                row[op.dst.0 as usize] = after[op.dst.0 as usize];
            }
        }
    }

    #[test]
    fn waves_leave_what_the_order_leaves() {
        let row = |at: u32| at | OF_ROW;
        let ops = vec![
            op(AdvanceKind::Count, 0, 0, 9),
            op(AdvanceKind::Mul, 1, row(0), 2),
            op(AdvanceKind::Const, 2, 4, 0),
            op(AdvanceKind::CeilDiv, 3, row(1), row(2)),
            op(AdvanceKind::Add, 1, row(3), row(1)),
            op(AdvanceKind::Copy, 4, row(1), row(7)),
            op(AdvanceKind::Const, 2, 11, 0),
            op(AdvanceKind::Max, 5, row(2), 1),
            op(AdvanceKind::Count, 0, 1, 9),
        ];
        let program = FindProgram::new(ops);
        assert_eq!(program.waves().collect::<Vec<_>>(), [0, 1, 0, 2, 3, 4, 3, 4, 2]);
        let base = [5, 3, 7, 2];
        for counts in [[0, 0], [3, 20], [-4, 9]] {
            let (mut in_order, mut in_waves) = ([1u32; 8], [1u32; 8]);
            program.run(&mut in_order, &base, &counts);
            run_in_waves(&program, &mut in_waves, &base, &counts);
            assert_eq!(in_order, in_waves, "{counts:?}");
        }
    }
}
