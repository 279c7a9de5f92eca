//! The frame: one small buffer of 32-bit words with everything that changes between runs without changing the plan.
//!
//! The host evaluates every word before a submission. Where a scalar advances on the device, or a value of the program
//! stops replays, the recording ends with the built-in `frame_advance` kernel (with counts that other kernels left:
//! `frame_count`), which runs [`Frame::advance`] over the words.
//!
//! Extents that the program finds while it runs, and what follows from them, have rows of words of their own at the
//! front of the frame. The host writes zeros there; in the middle of a replay `frame_find` fills a row by
//! [`FoundRow::program`].

mod builder;
mod found;

pub use builder::FrameBuilder;
pub use found::{FindProgram, FoundRow, OF_ROW};

use pumice_types::{Bindings, DimExpr, EvalError, ScalarId, SymbolId, Var};
use serde::{Deserialize, Serialize};

/// Index of a 32-bit word of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameWord(pub u32);

/// What one word holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FrameSlot {
    /// The value of a bound symbol.
    Bound(SymbolId),
    /// The 32 bits of a dynamic scalar (i32, u32 or f32).
    Scalar(ScalarId),
    /// An integer expression of both, as i32 or u32 (two's complement).
    Expr(DimExpr),
    /// A temporary of `frame_advance`; 0 when the host writes the frame.
    Temporary,
    /// 1 once the program's stop was true after a replay of this submission; 0 when the host writes the frame.
    Stopped,
    /// Replays of this submission that counted; 0 when the host writes the frame.
    Replays,
}

impl FrameSlot {
    /// The expression that it holds, where it holds one.
    pub fn expression(&self) -> Option<DimExpr> {
        match self {
            FrameSlot::Expr(e) => Some(e.clone()),
            FrameSlot::Bound(symbol) => Some(DimExpr::symbol(*symbol)),
            _ => None,
        }
    }

    /// Whether only the device says what the word holds after a replay.
    pub const fn is_of_device(&self) -> bool {
        matches!(self, FrameSlot::Temporary | FrameSlot::Stopped | FrameSlot::Replays)
    }
}

/// One instruction of `frame_advance`, over frame words. Integers are 32-bit two's complement and wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AdvanceOp {
    /// What is done.
    pub op: AdvanceKind,
    /// Word written.
    pub dst: FrameWord,
    /// First operand: a word; for `Const` the literal, for `Count` a word of the counts.
    pub a: u32,
    /// Second operand: a word; for `Count` and `ClearIf` a literal.
    pub b: u32,
}

/// Operations of `frame_advance`; the discriminant is the kernel's opcode (shared by generation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum AdvanceKind {
    /// dst = a, as a literal.
    Const = 0,
    /// dst = a.
    Copy = 1,
    /// dst = a + b.
    Add = 2,
    /// dst = a · b.
    Mul = 3,
    /// dst = ⌊a / b⌋, signed; 0 where b ≤ 0.
    FloorDiv = 4,
    /// dst = ⌈a / b⌉, signed; 0 where b ≤ 0.
    CeilDiv = 5,
    /// dst = min(a, b), signed.
    Min = 6,
    /// dst = max(a, b), signed.
    Max = 7,
    /// dst = what a kernel left in word a of the counts, at most b, a literal; unsigned.
    Count = 8,
    /// dst = a where word b is 0; else dst stays.
    CopyUnless = 9,
    /// The b words from dst on, as a literal, become 0 where word a is not 0.
    ClearIf = 10,
}

/// The frame of one run program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// What each word holds: the rows of `found`, one after the other, then what the host writes.
    pub words: Vec<FrameSlot>,
    /// What `frame_advance` does at the end of a recording; empty when no scalar advances on the device.
    /// It lies in the frame region after the words, four words an instruction: op, dst, a, b.
    pub advance: Vec<AdvanceOp>,
    /// Rows of words that steps of the program fill; their programs lie after that of the advance.
    #[serde(default)]
    pub found: Vec<FoundRow>,
}

/// A frame word that cannot be computed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// An expression has no value.
    #[error("frame word {word}: {source}")]
    Eval {
        /// Which word.
        word: u32,
        /// Why.
        source: EvalError,
    },
    /// A value does not fit 32 bits.
    #[error("frame word {word}: {value} does not fit in 32 bits")]
    Range {
        /// Which word.
        word: u32,
        /// The value.
        value: i64,
    },
}

pumice_types::debug_as_display!(FrameError);

impl Frame {
    /// The words that the advance writes or clears; some more than once.
    pub fn advanced_words(&self) -> impl Iterator<Item = u32> + '_ {
        let len = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.advance.iter().flat_map(move |op| {
            let words = if op.op == AdvanceKind::ClearIf { op.b } else { 1 };
            op.dst.0..op.dst.0.saturating_add(words).min(len)
        })
    }

    /// Words of the frame with the advance program after them.
    pub fn len_words(&self) -> u64 {
        let programs = self.found.iter().map(|row| row.program.ops().len());
        self.words.len() as u64 + 4 * (self.advance.len() + programs.sum::<usize>()) as u64
    }

    /// The first word that the host writes: those before it are of rows.
    pub fn base(&self) -> u32 {
        self.found.last().map_or(0, |row| row.end()).min(self.words.len() as u32)
    }

    /// The symbols that words from `first` on are, each with its value.
    pub fn bound<'f>(&'f self, first: u32, words: &'f [u32]) -> impl Iterator<Item = (SymbolId, u64)> {
        self.words.iter().skip(first as usize).zip(words).filter_map(|(slot, &word)| match slot {
            FrameSlot::Bound(symbol) => Some((*symbol, u64::from(word))),
            _ => None,
        })
    }

    /// The arguments of the step that fills a row: the word, counted from [`Frame::base`], at which its program begins,
    /// the number of its instructions, and that of its words.
    pub fn find_args(&self, row: usize) -> [u32; 3] {
        let before = self.found.iter().take(row).map(|r| r.program.ops().len());
        let instructions = self.advance.len() + before.sum::<usize>();
        let at = self.words.len() as u32 - self.base() + 4 * instructions as u32;
        let of_row = self.found.get(row);
        [at, of_row.map_or(0, |r| r.program.ops().len() as u32), of_row.map_or(0, |r| r.len)]
    }

    /// Every word, the advance program included. `scalar_bits` gives the bits of a scalar that is not an integer
    /// bound in `bindings`.
    pub fn evaluate(
        &self,
        bindings: &Bindings,
        scalar_bits: &dyn Fn(ScalarId) -> u32,
    ) -> Result<Vec<u32>, FrameError> {
        let mut out = Vec::with_capacity(self.len_words() as usize);
        self.evaluate_into(bindings, scalar_bits, &mut out)?;
        Ok(out)
    }

    /// As `evaluate`, where the bindings also say what is found: rows hold what steps will leave there.
    ///
    /// # Errors
    /// As `evaluate`.
    pub fn evaluate_as_found(
        &self,
        bindings: &Bindings,
        scalar_bits: &dyn Fn(ScalarId) -> u32,
    ) -> Result<Vec<u32>, FrameError> {
        let mut out = self.evaluate(bindings, scalar_bits)?;
        self.fill_found(bindings, &mut out)?;
        Ok(out)
    }

    /// Gives the rows of evaluated words what steps will leave there, where the bindings say what is found.
    ///
    /// # Errors
    /// A word that has no value.
    pub fn fill_found(&self, bindings: &Bindings, words: &mut [u32]) -> Result<(), FrameError> {
        for ((at, slot), word) in (0u32..self.base()).zip(&self.words).zip(words) {
            *word = Frame::word(at, slot, bindings, &|_| 0)?;
        }
        Ok(())
    }

    /// As `evaluate`, into memory that is used again and again.
    pub fn evaluate_into(
        &self,
        bindings: &Bindings,
        scalar_bits: &dyn Fn(ScalarId) -> u32,
        out: &mut Vec<u32>,
    ) -> Result<(), FrameError> {
        out.clear();
        out.resize(self.base() as usize, 0);
        for (i, slot) in self.words.iter().enumerate().skip(out.len()) {
            let word = i as u32;
            out.push(Frame::word(word, slot, bindings, scalar_bits)?);
        }
        out.extend(self.advance.iter().flat_map(|op| [op.op as u32, op.dst.0, op.a, op.b]));
        self.found.iter().for_each(|row| out.extend_from_slice(row.program.words()));
        Ok(())
    }

    fn word(
        word: u32,
        slot: &FrameSlot,
        bindings: &Bindings,
        scalar_bits: &dyn Fn(ScalarId) -> u32,
    ) -> Result<u32, FrameError> {
        match slot {
            FrameSlot::Temporary | FrameSlot::Stopped | FrameSlot::Replays => Ok(0),
            FrameSlot::Scalar(id) => Ok(scalar_bits(*id)),
            FrameSlot::Bound(id) => {
                let unbound = EvalError::Unbound(Var::Symbol(*id));
                let value = bindings.symbol(*id).ok_or(FrameError::Eval { word, source: unbound })?;
                fits(word, i64::try_from(value).unwrap_or(i64::MAX))
            }
            FrameSlot::Expr(e) => {
                fits(word, e.eval(bindings).map_err(|source| FrameError::Eval { word, source })?)
            }
        }
    }

    /// The word of this slot.
    pub fn find(&self, slot: &FrameSlot) -> Option<FrameWord> {
        self.words.iter().position(|s| s == slot).map(|at| FrameWord(at as u32))
    }

    /// Runs the advance program over evaluated words, as the kernel does. `counts` are what other kernels left; what is
    /// not there is 0.
    pub fn run_advance(&self, words: &mut [u32], counts: &[u32]) {
        for op in &self.advance {
            let get = |i: u32| words.get(i as usize).map_or(0, |&w| w as i32);
            let (a, b) = (get(op.a), get(op.b));
            let value = match op.op {
                AdvanceKind::ClearIf => {
                    let first = (op.dst.0 as usize).min(words.len());
                    let end = first.saturating_add(op.b as usize).min(words.len());
                    if a != 0 {
                        words[first..end].fill(0);
                    }
                    continue;
                }
                AdvanceKind::CopyUnless if b != 0 => continue,
                AdvanceKind::Count => counts.get(op.a as usize).map_or(0, |&c| c.min(op.b)) as i32,
                AdvanceKind::Const => op.a as i32,
                AdvanceKind::CopyUnless | AdvanceKind::Copy => a,
                kind => arithmetic(kind, a, b),
            };
            if let Some(word) = words.get_mut(op.dst.0 as usize) {
                *word = value as u32;
            }
        }
    }
}

/// What an instruction makes of two words; 0 for one that is no arithmetic, and for a quotient by what is not positive.
fn arithmetic(kind: AdvanceKind, a: i32, b: i32) -> i32 {
    match kind {
        AdvanceKind::Add => a.wrapping_add(b),
        AdvanceKind::Mul => a.wrapping_mul(b),
        AdvanceKind::FloorDiv if b > 0 => a.div_euclid(b),
        AdvanceKind::CeilDiv if b > 0 => a.div_euclid(b) + i32::from(a.rem_euclid(b) != 0),
        AdvanceKind::Min => a.min(b),
        AdvanceKind::Max => a.max(b),
        AdvanceKind::FloorDiv | AdvanceKind::CeilDiv => 0,
        AdvanceKind::Const
        | AdvanceKind::Copy
        | AdvanceKind::Count
        | AdvanceKind::CopyUnless
        | AdvanceKind::ClearIf => 0,
    }
}

fn fits(word: u32, value: i64) -> Result<u32, FrameError> {
    let fits = (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&value);
    if fits { Ok(value as u32) } else { Err(FrameError::Range { word, value }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shared_and_evaluated() {
        let mut f = FrameBuilder::new();
        let s = DimExpr::symbol(SymbolId(0));
        let a = f.intern(FrameSlot::Bound(SymbolId(0)));
        let g = f.intern_grid([s.ceil_div(&64u64.into()), 1u64.into(), 1u64.into()]);
        assert_eq!(f.intern(FrameSlot::Bound(SymbolId(0))), a);
        assert_eq!(f.intern_grid([s.ceil_div(&64u64.into()), 1u64.into(), 1u64.into()]), g);
        let f = f.build();
        let mut b = Bindings::new();
        b.bind(SymbolId(0), 65);
        assert_eq!(f.evaluate(&b, &|_| 0), Ok(vec![65, 2, 1, 1]));
        b.bind(SymbolId(0), 1 << 40);
        assert!(matches!(f.evaluate(&b, &|_| 0), Err(FrameError::Range { word: 0, .. })));
    }
}
