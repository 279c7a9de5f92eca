//! Merging as SentencePiece does it in its BPE models: of all pairs of neighbours that make a piece, the one with the
//! highest score is joined, of equals the leftmost, until none is left.
//!
//! Text comes in, in which spaces are ▁ already; ids go out. A heap holds the pairs: n characters take about
//! n log n steps. A pair longer than the longest piece is never looked up, so each step is bounded by the vocabulary.
//! Never here: control tokens (no text makes one by merging), spaces, normalization.
//!
//! The rule is that of T. Kudo and J. Richardson, SentencePiece (2018), section 3.1.

use super::error::TextError;
use indexmap::IndexMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A piece that merging can make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub id: u32,
    /// The higher is joined first.
    pub score: f32,
    /// It is made on the way to longer pieces, and taken apart again where it is left over.
    pub unused: bool,
}

/// Pieces by text, and what stands for a character that is none.
#[derive(Debug)]
pub(super) struct Merges {
    pieces: IndexMap<String, Piece>,
    longest: usize,
    /// The token of each byte.
    bytes: Option<Box<[u32; 256]>>,
    /// Stands for a run of characters without pieces, where bytes have no tokens.
    unknown: Option<u32>,
}

/// A run of the text between neighbours, which grows by merging.
struct Symbol {
    start: usize,
    /// 0 after it was joined to the one before it.
    len: usize,
    before: usize,
    after: usize,
    /// A token that a user defined: joined to nothing.
    whole: bool,
}

/// No neighbour.
const NONE: usize = usize::MAX;

/// Ordered by score, then from left to right; the length tells whether the pair is still what it was.
type Pair = (Score, Reverse<usize>, usize, usize);

/// A score, which is never NaN: those are refused with the vocabulary.
#[derive(Clone, Copy, PartialEq)]
struct Score(f32);

impl Eq for Score {}

impl Ord for Score {
    fn cmp(&self, other: &Score) -> std::cmp::Ordering {
        // 0 and -0 are equal.
        (self.0 + 0.0).total_cmp(&(other.0 + 0.0))
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Score) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Merges {
    pub fn new(
        pieces: IndexMap<String, Piece>,
        bytes: Option<Box<[u32; 256]>>,
        unknown: Option<u32>,
    ) -> Merges {
        let longest = pieces.keys().map(String::len).max().unwrap_or(0);
        Merges { pieces, longest, bytes, unknown }
    }

    /// The ids of a text. `whole` are the ranges that are one piece already, in order.
    pub fn ids(&self, text: &str, whole: &[std::ops::Range<usize>]) -> Result<Vec<u32>, TextError> {
        let mut run = Run { merges: self, text, symbols: symbols(text, whole), pairs: BinaryHeap::new() };
        let mut halves = IndexMap::new();
        for left in 0..run.symbols.len().saturating_sub(1) {
            run.add_pair(left, left + 1, &mut halves);
        }
        run.join(&mut halves);
        let mut ids = Ids { merges: self, ids: Vec::new(), after_unknown: false };
        for symbol in run.symbols.iter().filter(|symbol| symbol.len > 0) {
            ids.push(&text[symbol.start..symbol.start + symbol.len], &halves)?;
        }
        Ok(ids.ids)
    }
}

/// Each character, and each range that is whole, by itself.
fn symbols(text: &str, whole: &[std::ops::Range<usize>]) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::with_capacity(text.len());
    let mut whole = whole.iter().peekable();
    let mut start = 0;
    while let Some(c) = text[start..].chars().next() {
        let found = whole.next_if(|range| range.start == start);
        let len = found.map_or(c.len_utf8(), |range| range.len());
        let index = symbols.len();
        symbols.push(Symbol {
            start,
            len,
            before: index.wrapping_sub(1),
            after: index + 1,
            whole: found.is_some(),
        });
        start += len;
    }
    if let Some(last) = symbols.last_mut() {
        last.after = NONE;
    }
    symbols
}

/// One text while it is merged.
struct Run<'r> {
    merges: &'r Merges,
    text: &'r str,
    symbols: Vec<Symbol>,
    pairs: BinaryHeap<Pair>,
}

/// Where unused pieces are taken apart: bytes of the left half, by text.
type Halves<'t> = IndexMap<&'t str, usize>;

impl<'r> Run<'r> {
    fn add_pair(&mut self, left: usize, right: usize, halves: &mut Halves<'r>) {
        if left == NONE || right == NONE {
            return;
        }
        let (l, r) = (&self.symbols[left], &self.symbols[right]);
        let len = l.len + r.len;
        if l.whole || r.whole || len > self.merges.longest {
            return;
        }
        let text = &self.text[l.start..l.start + len];
        let Some(piece) = self.merges.pieces.get(text) else { return };
        if piece.unused {
            halves.insert(text, l.len);
        }
        self.pairs.push((Score(piece.score), Reverse(left), right, len));
    }

    fn join(&mut self, halves: &mut Halves<'r>) {
        while let Some((_, Reverse(left), right, len)) = self.pairs.pop() {
            let (l, r) = (&self.symbols[left], &self.symbols[right]);
            let (before, after) = (l.before, r.after);
            // One of the two was joined to another meanwhile.
            if l.len == 0 || r.len == 0 || l.len + r.len != len {
                continue;
            }
            self.symbols[left].len = len;
            self.symbols[left].after = after;
            self.symbols[right].len = 0;
            if after != NONE {
                self.symbols[after].before = left;
            }
            self.add_pair(before, left, halves);
            self.add_pair(left, after, halves);
        }
    }
}

/// Symbols to ids.
struct Ids<'m> {
    merges: &'m Merges,
    ids: Vec<u32>,
    after_unknown: bool,
}

impl Ids<'_> {
    fn push(&mut self, symbol: &str, halves: &Halves<'_>) -> Result<(), TextError> {
        let mut left_over = vec![symbol];
        while let Some(text) = left_over.pop() {
            match (self.merges.pieces.get(text), halves.get(text)) {
                (Some(piece), Some(&left)) if piece.unused => {
                    left_over.extend([&text[left..], &text[..left]]);
                }
                (Some(piece), _) => {
                    self.ids.push(piece.id);
                    self.after_unknown = false;
                }
                (None, _) => self.push_unknown(text)?,
            }
        }
        Ok(())
    }

    fn push_unknown(&mut self, text: &str) -> Result<(), TextError> {
        match (&self.merges.bytes, self.merges.unknown) {
            (Some(bytes), _) => self.ids.extend(text.bytes().map(|b| bytes[usize::from(b)])),
            (None, Some(unknown)) => {
                if !self.after_unknown {
                    self.ids.push(unknown);
                }
                self.after_unknown = true;
            }
            (None, None) => {
                let problem = format!("`{text}` has no token, and neither bytes nor the unknown have one");
                return Err(TextError::Encode { problem });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{IndexMap, Merges, Piece};

    fn merges(pieces: &[(&str, f32, bool)], unknown: Option<u32>) -> Merges {
        let piece = |(id, &(text, score, unused)): (usize, &(&str, f32, bool))| {
            (text.to_owned(), Piece { id: id as u32, score, unused })
        };
        let pieces: IndexMap<String, Piece> = pieces.iter().enumerate().map(piece).collect();
        Merges::new(pieces, None, unknown)
    }

    const ABC: [(&str, f32, bool); 6] = [
        ("a", 0.0, false),
        ("b", 0.0, false),
        ("c", 0.0, false),
        ("ab", -1.0, false),
        ("bc", -1.0, false),
        ("abc", -2.0, false),
    ];

    #[test]
    fn the_highest_score_and_then_the_leftmost_is_joined() {
        let m = merges(&ABC, None);
        assert_eq!(m.ids("abc", &[]), Ok(vec![5]));
        assert_eq!(m.ids("abcbc", &[]), Ok(vec![5, 4]));
        let mut right = ABC;
        right[4].1 = -0.5;
        right[5].1 = -9.0;
        assert_eq!(merges(&right, None).ids("ab", &[]), Ok(vec![3]));
        assert_eq!(merges(&right, None).ids("abcab", &[]), Ok(vec![5, 3]));
        // 0 and -0 are one score: the left pair is joined.
        let zeros = [("a", 0.0, false), ("aa", -0.0, false), ("ab", 0.0, false), ("b", 0.0, false)];
        assert_eq!(merges(&zeros, None).ids("aab", &[]), Ok(vec![1, 3]));
    }

    #[test]
    fn whole_ranges_are_joined_to_nothing_and_unused_pieces_come_apart() {
        let m = merges(&ABC, None);
        assert_eq!(m.ids("abc", std::slice::from_ref(&(0..1))), Ok(vec![0, 4]));
        assert_eq!(m.ids("aabc", std::slice::from_ref(&(1..3))), Ok(vec![0, 3, 2]));
        let mut unused = ABC;
        unused[3].2 = true;
        let m = merges(&unused, None);
        assert_eq!(m.ids("abc", &[]), Ok(vec![5]), "an unused piece is a step to another");
        assert_eq!(m.ids("abab", &[]), Ok(vec![0, 1, 0, 1]));
    }

    #[test]
    fn what_has_no_piece_is_one_unknown_or_refused() {
        assert_eq!(merges(&ABC, Some(9)).ids("xyaxz", &[]), Ok(vec![9, 0, 9]));
        assert!(merges(&ABC, None).ids("x", &[]).is_err());
        assert_eq!(merges(&ABC, None).ids("", &[]), Ok(vec![]));
    }

    /// A quadratic way takes minutes.
    #[test]
    fn a_long_text_takes_no_longer_than_its_length() {
        let m = merges(&ABC, Some(9));
        let ids = m.ids(&"abcbca".repeat(200_000), &[]).expect("pieces");
        assert_eq!(ids.len(), 600_000);
    }
}
