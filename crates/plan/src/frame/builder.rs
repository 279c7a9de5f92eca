//! A frame while its words are collected: equal slots are one word, and are found again without a search.
//!
//! In: slots, grids, the advance program. Out: the frame. Never here: which words a plan needs.

use super::{AdvanceOp, Frame, FrameSlot, FrameWord};
use indexmap::IndexMap;
use pumice_types::DimExpr;

/// A frame under construction.
#[derive(Clone, Debug, Default)]
pub struct FrameBuilder {
    frame: Frame,
    at: IndexMap<FrameSlot, FrameWord>,
    /// Where three consecutive words are first found.
    triples: IndexMap<[FrameSlot; 3], FrameWord>,
    /// Words from here on are shared.
    shared_from: usize,
}

impl FrameBuilder {
    /// A frame without words.
    pub fn new() -> FrameBuilder {
        FrameBuilder::default()
    }

    /// The word that holds this slot, added if there is none yet.
    pub fn intern(&mut self, slot: FrameSlot) -> FrameWord {
        match self.at.get(&slot) {
            Some(&word) => word,
            None => self.push(slot),
        }
    }

    /// Three consecutive words for an indirect grid.
    pub fn intern_grid(&mut self, grid: [DimExpr; 3]) -> FrameWord {
        let grid = grid.map(FrameSlot::Expr);
        if let Some(&word) = self.triples.get(&grid) {
            return word;
        }
        let first = self.end();
        grid.into_iter().for_each(|slot| _ = self.push(slot));
        first
    }

    /// A word that nobody else is given, whatever it holds.
    pub fn own(&mut self, slot: FrameSlot) -> FrameWord {
        let word = self.end();
        self.frame.words.push(slot);
        self.shared_from = self.frame.words.len();
        word
    }

    /// What `frame_advance` does.
    pub fn advance(&mut self, ops: Vec<AdvanceOp>) {
        self.frame.advance = ops;
    }

    /// The word that comes next.
    pub fn end(&self) -> FrameWord {
        FrameWord(self.frame.words.len() as u32)
    }

    /// The frame so far.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The frame.
    pub fn build(self) -> Frame {
        self.frame
    }

    fn push(&mut self, slot: FrameSlot) -> FrameWord {
        let word = self.end();
        self.at.entry(slot.clone()).or_insert(word);
        self.frame.words.push(slot);
        if let [.., a, b, c] = &self.frame.words[self.shared_from..] {
            self.triples.entry([a.clone(), b.clone(), c.clone()]).or_insert(FrameWord(word.0 - 2));
        }
        word
    }
}

/// Goes on with a frame: its words are shared.
impl From<Frame> for FrameBuilder {
    fn from(frame: Frame) -> FrameBuilder {
        let mut builder = FrameBuilder::new();
        frame.words.into_iter().for_each(|slot| _ = builder.push(slot));
        builder.advance(frame.advance);
        builder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::SymbolId;

    fn n(k: u64) -> DimExpr {
        DimExpr::from(k)
    }

    /// Words and triples are found where a search would find them, also across the borders of grids.
    #[test]
    fn words_are_found_again() {
        let s = DimExpr::symbol(SymbolId(0));
        let (mut builder, mut plain) = (FrameBuilder::new(), Vec::new());
        let slots = [FrameSlot::Bound(SymbolId(0)), FrameSlot::Expr(n(1)), FrameSlot::Expr(s.clone())];
        for slot in slots.iter().chain(&slots) {
            let at = plain.iter().position(|w| w == slot).unwrap_or(plain.len());
            plain.extend((at == plain.len()).then(|| slot.clone()));
            assert_eq!(builder.intern(slot.clone()), FrameWord(at as u32));
        }
        let grids = [[n(2), n(1), n(1)], [n(1), n(1), n(3)], [n(1), n(3), s], [n(1), n(1), n(1)]];
        for grid in grids.iter().chain(&grids) {
            let wanted = grid.clone().map(FrameSlot::Expr);
            let at = plain.windows(3).position(|w| w == wanted).unwrap_or(plain.len());
            plain.extend(if at == plain.len() { wanted.to_vec() } else { Vec::new() });
            assert_eq!(builder.intern_grid(grid.clone()), FrameWord(at as u32));
        }
        assert_eq!(builder.build().words, plain);
    }

    /// A word of its own is no part of a grid that others find.
    #[test]
    fn own_words_are_not_found() {
        let mut builder = FrameBuilder::new();
        let own = [n(5), n(1), n(1)].map(|e| builder.own(FrameSlot::Expr(e)));
        assert_eq!(own, [0, 1, 2].map(FrameWord));
        assert_eq!(builder.intern(FrameSlot::Expr(n(1))), FrameWord(3));
        assert_eq!(builder.intern_grid([n(5), n(1), n(1)]), FrameWord(4));
        assert_eq!(builder.intern_grid([n(1), n(1), n(1)]), FrameWord(7));
        let mut again = FrameBuilder::from(builder.build());
        assert_eq!(again.intern(FrameSlot::Expr(n(5))), FrameWord(0));
    }
}
