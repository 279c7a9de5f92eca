//! What the advance program leaves in the frame, followed as expressions: for every value of symbols and scalars at
//! once, not at samples.
//!
//! In: a run. Every word begins as what its slot says. Instructions are carried out on expressions, which are equal
//! where their values are. Afterwards each word must be what the host would write for the next replay: its expression,
//! with every scalar that advances at its next value. A product or a sum is right modulo 2^32 whatever its operands
//! are; quotients and extrema are right where their operands are signed 32-bit numbers, which is shown by their
//! bounds. A scalar's next value is in its range as well as this one: the host compares it before it submits the
//! replays.
//!
//! Where replays stop, the program is followed four times: the stop was true before or not, the count is 0 or 1. `stop`
//! says what must come of it.

use super::error::{Fault, Findings};
use super::expressions::{symbols_of, terms};
use super::{Scope, scalars};
use crate::frame::{AdvanceKind, AdvanceOp, FoundRow, Frame, FrameSlot, OF_ROW};
use crate::plan::Run;
use pumice_types::dim::Atom;
use pumice_types::{DType, DimExpr, ScalarId, SymbolTable, Var};
use std::ops::Range;

/// Terms that the expressions of one advance have together at most.
const MOST_TERMS: u64 = 1 << 20;
/// Terms of one of them.
const MOST_OF_ONE: u64 = 1 << 10;

/// What a word holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Held {
    /// An integer.
    Is(DimExpr),
    /// The bits that a word held at first: those of a float.
    Bits(usize),
    /// Whatever an earlier replay left.
    Unknown,
}

/// From where an advance begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// Whether the stop was true before.
    pub stopped: bool,
    /// What the kernel that counts left.
    pub count: u32,
}

/// Checks the advance of a run that never stops: whatever its bindings are, words become those of the next replay.
pub(super) fn check(scope: &Scope<'_>, run: &Run, findings: &mut Findings) {
    let followed = Followed::new(scope, run, 0..0);
    if let Err(why) = followed.goes_on(Case { stopped: false, count: 0 }) {
        findings.add(Fault::Frame(why));
    }
}

/// The advance of a run's frame.
pub(super) struct Followed<'p> {
    frame: &'p Frame,
    scope: Scope<'p>,
    symbols: SymbolTable,
    /// Words that the stop clears.
    cleared: Range<u32>,
    /// Range of each scalar, narrowed by the conditions of the run.
    ranges: Vec<(i64, i64)>,
}

impl<'p> Followed<'p> {
    pub fn new(scope: &Scope<'p>, run: &'p Run, cleared: Range<u32>) -> Followed<'p> {
        let symbols = symbols_of(scope);
        let ranges = ranges(scope, run, &symbols);
        Followed { frame: &run.frame, scope: *scope, symbols, cleared, ranges }
    }

    /// After an advance that begins here every word holds what the host would write next, cleared words 0 if it stops.
    ///
    /// # Errors
    /// The word that does not, or the instruction that cannot be followed.
    pub fn goes_on(&self, case: Case) -> Result<Vec<Held>, String> {
        let after = self.after(case)?;
        let base = self.frame.base() as usize;
        let words = self.frame.words.iter().enumerate().skip(base);
        for (at, slot) in words.filter(|(_, s)| !s.is_of_device()) {
            let stops = case.stopped || case.count > 0;
            let wanted = match stops && self.cleared.contains(&(at as u32)) {
                true => Held::Is(DimExpr::constant(0)),
                false => self.slot(at, slot, !case.stopped),
            };
            if !same(&after[at], &wanted) {
                return Err(format!(
                    "word {at} advances to {}, the host would write {} ({case:?})",
                    shown(&after[at]),
                    shown(&wanted)
                ));
            }
        }
        Ok(after)
    }

    /// What the slot of a word says, for this replay or the next.
    fn slot(&self, at: usize, slot: &FrameSlot, next: bool) -> Held {
        match slot {
            FrameSlot::Bound(id) => Held::Is(DimExpr::symbol(*id)),
            FrameSlot::Scalar(id) => match self.scope.plan.scalars.get(id.0 as usize) {
                Some(s) if s.dtype == DType::F32 => Held::Bits(at),
                _ => Held::Is(self.scalar(*id, next)),
            },
            FrameSlot::Expr(e) => Held::Is(e.substitute(&|v| match v {
                Var::Scalar(id) => Some(self.scalar(id, next)),
                Var::Symbol(_) => None,
            })),
            FrameSlot::Temporary | FrameSlot::Stopped | FrameSlot::Replays => Held::Unknown,
        }
    }

    /// A scalar now, or at the next replay: a variable of its own where it advances.
    fn scalar(&self, id: ScalarId, next: bool) -> DimExpr {
        let count = self.scope.plan.scalars.len() as u32;
        let advances = self.scope.advance_of(id).is_some();
        DimExpr::scalar(if next && advances { ScalarId(count + id.0) } else { id })
    }

    /// The program of a row of found words gives each of them its value, whatever is found.
    ///
    /// # Errors
    /// The word that it does not, or the instruction that cannot be followed.
    pub fn finds(&self, row: &FoundRow) -> Result<(), String> {
        let held = self.found(row)?;
        for (at, held) in (row.first as usize..).zip(&held) {
            let slot = &self.frame.words[at];
            let wanted = self.slot(at, slot, false);
            if *slot != FrameSlot::Temporary && !same(held, &wanted) {
                return Err(format!("word {at} is found as {}, it is {}", shown(held), shown(&wanted)));
            }
        }
        Ok(())
    }

    /// Carries out the program of a row; what its words hold then.
    fn found(&self, row: &FoundRow) -> Result<Vec<Held>, String> {
        let slots = self.frame.words.iter().enumerate().skip(self.frame.base() as usize);
        let mut words: Vec<Held> = slots.map(|(at, slot)| self.slot(at, slot, false)).collect();
        let first = words.len();
        words.resize(first + row.len as usize, Held::Unknown);
        let word = |at: u32| if at & OF_ROW == 0 { at } else { first as u32 + (at & !OF_ROW) };
        let running = Case { stopped: false, count: 0 };
        let mut left = MOST_TERMS;
        for (i, op) in row.program.ops().iter().enumerate() {
            let value = match op.op {
                AdvanceKind::Const => self.value(&words, op, running),
                AdvanceKind::Count => self.count(row, op),
                _ => self.value(&words, &AdvanceOp { a: word(op.a), b: word(op.b), ..*op }, running),
            };
            let value = value.map_err(|why| format!("instruction {i} ({:?}): {why}", op.op))?;
            left = left_after(left, &value).ok_or("it is too large to follow")?;
            words[first + op.dst.0 as usize] = value;
        }
        Ok(words.split_off(first))
    }

    /// The count of a symbol of the row, at most the symbol's largest value.
    fn count(&self, row: &FoundRow, op: &AdvanceOp) -> Result<Held, String> {
        let symbol = row.symbols.get(op.a as usize).copied().ok_or("it has no such count")?;
        let most = self.symbols.get(symbol).map(|s| s.max);
        if most != Some(u64::from(op.b)) || op.b > i32::MAX as u32 {
            return Err(format!("the count is at most {}, and its symbol {most:?}", op.b));
        }
        Ok(Held::Is(DimExpr::symbol(symbol)))
    }

    /// The variable that the number of replays so far is.
    pub fn replays(&self) -> DimExpr {
        DimExpr::scalar(ScalarId(2 * self.scope.plan.scalars.len() as u32))
    }

    /// Carries out the program.
    fn after(&self, case: Case) -> Result<Vec<Held>, String> {
        let slots = self.frame.words.iter().enumerate();
        let mut words: Vec<Held> = slots.map(|(at, slot)| self.before(at, slot, case)).collect();
        let mut left = MOST_TERMS;
        for (i, op) in self.frame.advance.iter().enumerate() {
            let wrong = |why: String| format!("instruction {i} ({:?}): {why}", op.op);
            if op.op == AdvanceKind::ClearIf {
                if self.known(&words, op.a).map_err(wrong)? != 0 {
                    words[op.dst.0 as usize..(op.dst.0 + op.b) as usize].fill(Held::Is(DimExpr::constant(0)));
                }
                continue;
            }
            if op.op == AdvanceKind::CopyUnless && self.known(&words, op.b).map_err(wrong)? != 0 {
                continue;
            }
            let value = self.value(&words, op, case).map_err(wrong)?;
            left = left_after(left, &value).ok_or("it is too large to follow")?;
            let dst = op.dst.0 as usize;
            words[dst] = self.advanced(dst, value);
        }
        Ok(words)
    }

    /// What a word holds when the advance begins.
    fn before(&self, at: usize, slot: &FrameSlot, case: Case) -> Held {
        match slot {
            FrameSlot::Stopped => Held::Is(DimExpr::constant(case.stopped.into())),
            FrameSlot::Replays => Held::Is(self.replays()),
            _ if case.stopped && self.cleared.contains(&(at as u32)) => Held::Is(DimExpr::constant(0)),
            slot => self.slot(at, slot, false),
        }
    }

    /// What an instruction writes.
    fn value(&self, words: &[Held], op: &AdvanceOp, case: Case) -> Result<Held, String> {
        Ok(Held::Is(match op.op {
            AdvanceKind::Const => DimExpr::constant(i64::from(op.a as i32)),
            AdvanceKind::Count => DimExpr::constant(i64::from(case.count.min(op.b))),
            AdvanceKind::Copy | AdvanceKind::CopyUnless => return Ok(words[op.a as usize].clone()),
            AdvanceKind::Add => integer(words, op.a)? + integer(words, op.b)?,
            AdvanceKind::Mul => product(integer(words, op.a)?, integer(words, op.b)?)?,
            AdvanceKind::FloorDiv => self.signed(words, op.a)?.floor_div(self.divisor(words, op.b)?),
            AdvanceKind::CeilDiv => self.signed(words, op.a)?.ceil_div(self.divisor(words, op.b)?),
            AdvanceKind::Min => self.signed(words, op.a)?.min_with(self.signed(words, op.b)?),
            AdvanceKind::Max => self.signed(words, op.a)?.max_with(self.signed(words, op.b)?),
            AdvanceKind::ClearIf => return Err("it writes no value".to_owned()),
        }))
    }

    /// A word that is read as a signed number.
    fn signed<'w>(&self, words: &'w [Held], at: u32) -> Result<&'w DimExpr, String> {
        let e = integer(words, at)?;
        let (low, high) = self.bounds(e);
        let fits = low >= i64::from(i32::MIN) && high <= i64::from(i32::MAX);
        fits.then_some(e)
            .ok_or_else(|| format!("word {at}, {e}, may be {low}..={high}, which 32 bits do not hold"))
    }

    /// A word that is divided by. By what is not positive the kernel divides to 0, and an expression has no value.
    fn divisor<'w>(&self, words: &'w [Held], at: u32) -> Result<&'w DimExpr, String> {
        let e = self.signed(words, at)?;
        (self.bounds(e).0 > 0).then_some(e).ok_or_else(|| format!("word {at}, {e}, may be 0"))
    }

    /// A scalar that was given its next value holds that from now on, by its own name.
    fn advanced(&self, at: usize, value: Held) -> Held {
        let FrameSlot::Scalar(id) = self.frame.words[at] else { return value };
        let by = self.scope.advance_of(id);
        let next = by.map(|by| Held::Is(DimExpr::scalar(id) + by.substitute(&|_| None)));
        if next.is_some_and(|next| same(&value, &next)) { Held::Is(self.scalar(id, true)) } else { value }
    }

    /// A word whose value decides what is done: 0 or not in each case.
    fn known(&self, words: &[Held], at: u32) -> Result<i64, String> {
        let held = &words[at as usize];
        let value = if let Held::Is(e) = held { e.as_const() } else { None };
        value.ok_or_else(|| format!("whether word {at} is 0 is not known: it is {}", shown(held)))
    }

    fn bounds(&self, e: &DimExpr) -> (i64, i64) {
        let count = self.ranges.len();
        e.bounds_with(&self.symbols, &|id| match id.0 as usize {
            replays if replays == 2 * count => (0, u32::MAX.into()),
            scalar => self.ranges.get(scalar % count.max(1)).copied().unwrap_or((i64::MIN, i64::MAX)),
        })
    }
}

/// The integer that a word holds.
fn integer(words: &[Held], at: u32) -> Result<&DimExpr, String> {
    match &words[at as usize] {
        Held::Is(e) => Ok(e),
        held => Err(format!("word {at} is {}", shown(held))),
    }
}

fn product(a: &DimExpr, b: &DimExpr) -> Result<DimExpr, String> {
    let size = (terms(a) + 1).saturating_mul(terms(b) + 1);
    if size > MOST_OF_ONE {
        return Err("its product is too large to follow".to_owned());
    }
    Ok(a * b)
}

/// Terms that are left for other expressions after this one; nothing where it is too large.
fn left_after(left: u64, value: &Held) -> Option<u64> {
    let Held::Is(e) = value else { return Some(left) };
    let size = terms(e).saturating_add(1);
    left.checked_sub(size).filter(|_| size <= MOST_OF_ONE)
}

/// The ranges of the integer scalars where a replay runs: those of their slots, narrowed by the run's conditions that
/// are sums, which the host compares before every replay.
fn ranges(scope: &Scope<'_>, run: &Run, symbols: &SymbolTable) -> Vec<(i64, i64)> {
    let mut ranges: Vec<(i64, i64)> = scope.plan.scalars.iter().map(scalars::integers).collect();
    // A condition may be bounded by what another one says: rows and where they begin.
    for _ in 0..2 {
        for check in &run.checks {
            for (coefficient, factors) in check.value.terms() {
                let [Atom::Var(Var::Scalar(id))] = factors else { continue };
                let alone = DimExpr::scalar(*id) * &DimExpr::constant(coefficient);
                let rest = &check.value - &alone;
                let of = |id: ScalarId| ranges.get(id.0 as usize).copied().unwrap_or((i64::MIN, i64::MAX));
                let (low, high) = rest.bounds_with(symbols, &of);
                let (least, most) = (check.min.saturating_sub(high), check.max.saturating_sub(low));
                let Some(range) = ranges.get_mut(id.0 as usize) else { continue };
                match coefficient {
                    1 => *range = (range.0.max(least), range.1.min(most)),
                    -1 => *range = (range.0.max(most.saturating_neg()), range.1.min(least.saturating_neg())),
                    _ => {}
                }
            }
        }
    }
    ranges
}

/// Whether two words have the same 32 bits, whatever the variables are.
pub(super) fn same(a: &Held, b: &Held) -> bool {
    match (a, b) {
        (Held::Is(a), Held::Is(b)) => a == b || in_32_bits(a).is_some_and(|a| in_32_bits(b) == Some(a)),
        (Held::Unknown, _) | (_, Held::Unknown) => false,
        _ => a == b,
    }
}

/// Coefficients that 32 bits cannot tell apart become equal.
fn in_32_bits(e: &DimExpr) -> Option<DimExpr> {
    let wrapped = |n: i64| i64::from(n as i32);
    let terms = e.terms().map(|(c, factors)| (wrapped(c), factors.to_vec())).filter(|t| t.0 != 0).collect();
    // What saturated on the way says nothing.
    let exact = e.terms().map(|t| t.0).chain([e.constant_part()]).all(|n| n.unsigned_abs() < 1 << 62);
    exact.then(|| DimExpr::from_terms(terms, wrapped(e.constant_part()))).flatten()
}

pub(super) fn shown(held: &Held) -> String {
    match held {
        Held::Is(e) => e.to_string(),
        Held::Bits(at) => format!("the bits of word {at}"),
        Held::Unknown => "unknown".to_owned(),
    }
}
