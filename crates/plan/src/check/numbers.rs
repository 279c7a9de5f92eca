//! Numbers that follow from what a run finds, for all that it may find at once.
//!
//! In: found symbols, each between two ends ([`Intervals`]), and expressions of them. A [`Number`] is what an
//! expression is at the lower ends, and the expression itself. Rules compute with numbers and compare them as with any
//! others; every answer is that at the lower ends. Where the intervals do not show that the answer is the same for all
//! that they hold, they note where they must be cut ([`Intervals::open`]). So what a law says of numbers, and notes
//! nothing, it says of every value in the intervals: each would have taken the same way through the law.
//!
//! Sums are compared by the bounds of their difference, in which equal terms are gone. Never here: a law.

mod arithmetic;
mod order;

use pumice_types::dim::Atom;
use pumice_types::{Bindings, DimExpr, EvalError, SymbolId, SymbolTable, Var, When};
use std::cell::{Cell, RefCell};

/// The largest number that an expression may pass through: sums and products of such fit 128 bits, and itself 64.
const MOST: i128 = 1 << 62;

/// Smallest and largest.
type Range = (i128, i128);

/// Found symbols, each with all that it may be.
pub(super) struct Intervals {
    ends: Vec<(SymbolId, u64, u64)>,
    /// The same as a table, for minima and maxima that they decide.
    table: SymbolTable,
    forms: RefCell<Vec<Option<DimExpr>>>,
    open: Cell<Option<Cut>>,
}

/// How intervals must be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// That of the symbol after this value.
    After(SymbolId, u64),
    /// That of the symbol into its values.
    Each(SymbolId),
}

impl Intervals {
    /// Of symbols of a table; of none yet.
    pub fn new(table: &SymbolTable) -> Intervals {
        Intervals { ends: Vec::new(), table: table.clone(), forms: RefCell::default(), open: Cell::new(None) }
    }

    /// Begins anew: of these symbols, each between two ends.
    pub fn begin(&mut self, ends: &[(SymbolId, u64, u64)]) {
        ends.iter().for_each(|&(id, low, high)| self.table.set_range(id, low, high));
        self.ends.clear();
        self.ends.extend(ends.iter().filter(|(_, low, high)| low < high));
        self.forms.get_mut().clear();
        self.open.set(None);
    }

    /// How they must be cut before a law can be believed; none where it can.
    pub fn open(&self) -> Option<Cut> {
        self.open.get()
    }

    /// What an expression is, where everything else is bound, and found symbols are bound to their lower ends.
    ///
    /// # Errors
    /// It has no value at the lower ends.
    pub fn number(&self, e: &DimExpr, bindings: &Bindings) -> Result<Number<'_>, EvalError> {
        let value = e.eval(bindings)?.into();
        let varies = |v: Var| v.symbol().is_some_and(|id| self.of(id).is_some());
        if e.find_var(varies).is_none() {
            return Ok(Number { value, form: None });
        }
        let of = |v: Var| match v.symbol().and_then(|id| self.of(id)) {
            Some((low, high)) => Some((low.into(), high.into())),
            None => bindings.get(v).map(|value| (value.into(), value.into())),
        };
        let bound = |v: Var| bindings.get(v).filter(|_| !varies(v)).map(DimExpr::constant);
        let form = range_of(e, &of).map(|_| e.substitute(&bound).within(&self.table));
        if form.is_none() {
            // It may have no value somewhere, which is an answer of its own.
            self.cut_at(Some(e));
        }
        Ok(self.keep(value, form))
    }

    /// A number of this form, if it may be known.
    fn keep(&self, value: i128, form: Option<DimExpr>) -> Number<'_> {
        if form.as_ref().is_some_and(|e| e.as_const().is_some_and(|c| i128::from(c) == value)) {
            return Number { value, form: None };
        }
        let mut forms = self.forms.borrow_mut();
        forms.push(form.filter(is_exact));
        Number { value, form: Some((self, forms.len() - 1)) }
    }

    fn of(&self, id: SymbolId) -> Option<(u64, u64)> {
        self.ends.iter().find(|end| end.0 == id).map(|&(_, low, high)| (low, high))
    }

    /// All that an expression of the symbols may be; none where that is too much to say.
    fn range(&self, e: &DimExpr) -> Option<Range> {
        range_of(e, &|v| self.of(v.symbol()?).map(|(low, high)| (low.into(), high.into())))
    }

    /// Notes that an answer is not the same for all, which depends on the sign of `e`.
    fn cut_at(&self, e: Option<&DimExpr>) {
        if self.open.get().is_some() {
            return;
        }
        let mut named = Vec::new();
        e.into_iter().for_each(|e| e.visit_vars(|v| named.extend(v.symbol())));
        let widest = self.widest(|id| named.contains(&id)).or_else(|| self.widest(|_| true));
        let Some((id, low, high)) = widest else { return };
        let at =
            e.and_then(|e| sign_changes(e, id)).unwrap_or(if low < 2 { low } else { low + (high - low) / 2 });
        self.open.set(Some(Cut::After(id, at.clamp(low, high - 1))));
    }

    /// Of these symbols the one that may be most.
    fn widest(&self, is_one: impl Fn(SymbolId) -> bool) -> Option<(SymbolId, u64, u64)> {
        let ends = self.ends.iter().filter(|(id, ..)| is_one(*id));
        ends.max_by_key(|(_, low, high)| high - low).copied()
    }

    /// Notes that a law needs the value itself.
    fn cut_each(&self, e: Option<&DimExpr>) {
        self.cut_at(e);
        if let Some(Cut::After(id, _)) = self.open.get() {
            self.open.set(Some(Cut::Each(id)));
        }
    }
}

/// The last value of a symbol before the sign of c·s + k changes; none of another expression.
fn sign_changes(e: &DimExpr, id: SymbolId) -> Option<u64> {
    let mut terms = e.terms();
    let (c, factors) = terms.next()?;
    let alone = terms.next().is_none() && matches!(factors, [Atom::Var(v)] if v.symbol() == Some(id));
    let (c, k) = (i128::from(c), i128::from(e.constant_part()));
    let (c, k) = if c < 0 { (-c, -k) } else { (c, k) };
    if !alone {
        return None;
    }
    // Where it is 0 at a value, this value is cut off: from those before it, then from those after it.
    let root = (-k).div_euclid(c);
    u64::try_from(if (-k).rem_euclid(c) == 0 { root - 1 } else { root }).ok()
}

/// The largest value of an expression over a table; none where it may have no value for some of it.
pub(super) fn largest_of(e: &DimExpr, symbols: &SymbolTable) -> Option<i128> {
    let of = |v: Var| symbols.get(v.symbol()?).map(|s| (s.min.into(), s.max.into()));
    range_of(e, &of).map(|(_, largest)| largest)
}

/// Whether no coefficient came near the end of 64 bits, where sums saturate.
fn is_exact(e: &DimExpr) -> bool {
    let small = |n: i64| i128::from(n).abs() < MOST;
    !e.is_too_large() && small(e.constant_part()) && e.terms().all(|(c, _)| small(c))
}

/// All that an expression may be; none where it may have no value, or passes through numbers that are too large.
fn range_of(e: &DimExpr, of: &dyn Fn(Var) -> Option<Range>) -> Option<Range> {
    let few = |r: Range| (r.0 >= -MOST && r.1 <= MOST).then_some(r);
    let constant = i128::from(e.constant_part());
    let mut sum = (constant, constant);
    for (c, factors) in e.terms() {
        let mut product = (i128::from(c), i128::from(c));
        for factor in factors {
            product = few(times(few(product)?, range_of_atom(factor, of)?))?;
        }
        sum = few((sum.0 + product.0, sum.1 + product.1))?;
    }
    Some(sum)
}

fn range_of_atom(atom: &Atom, of: &dyn Fn(Var) -> Option<Range>) -> Option<Range> {
    let both = |p: &(DimExpr, DimExpr)| Some((range_of(&p.0, of)?, range_of(&p.1, of)?));
    Some(match atom {
        Atom::Var(v) => of(*v)?,
        Atom::FloorDiv(p) | Atom::CeilDiv(p) => {
            let (a, b) = both(p)?;
            if b.0 < 1 {
                return None;
            }
            let ceil = matches!(atom, Atom::CeilDiv(_));
            let quotient = |x: i128, y: i128| x.div_euclid(y) + i128::from(ceil && x.rem_euclid(y) != 0);
            ends(&[quotient(a.0, b.0), quotient(a.0, b.1), quotient(a.1, b.0), quotient(a.1, b.1)])
        }
        Atom::Min(p) => {
            let (a, b) = both(p)?;
            (a.0.min(b.0), a.1.min(b.1))
        }
        Atom::Max(p) => {
            let (a, b) = both(p)?;
            (a.0.max(b.0), a.1.max(b.1))
        }
    })
}

fn times(a: Range, b: Range) -> Range {
    ends(&[a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1])
}

fn ends(all: &[i128; 4]) -> Range {
    all.iter().skip(1).fold((all[0], all[0]), |(low, high), &n| (low.min(n), high.max(n)))
}

/// Where a law is asked: everything that is bound, and what may be found at once.
#[derive(Clone, Copy)]
pub(super) struct At<'b> {
    /// Found symbols are bound to their lower ends.
    pub bindings: &'b Bindings,
    /// Nothing where each has one value.
    pub found: Option<&'b Intervals>,
}

impl<'b> At<'b> {
    /// What an expression is there.
    ///
    /// # Errors
    /// It has no value.
    pub fn number(self, e: &DimExpr) -> Result<Number<'b>, EvalError> {
        match (e.as_const(), self.found) {
            (Some(c), _) => Ok(c.into()),
            (None, Some(found)) => found.number(e, self.bindings),
            (None, None) => Ok(e.eval(self.bindings)?.into()),
        }
    }

    /// As [`At::number`], as an extent.
    ///
    /// # Errors
    /// It has no value, or is negative.
    pub fn extent(self, e: &DimExpr) -> Result<Number<'b>, EvalError> {
        let extent = self.number(e)?;
        if extent < 0 { Err(EvalError::Negative(extent.value as i64)) } else { Ok(extent) }
    }

    /// Whether branches are taken.
    ///
    /// # Errors
    /// A choice has no value.
    pub fn takes(self, when: &When) -> Result<bool, EvalError> {
        for branch in when.branches() {
            if (self.number(&branch.taken)? == 0) != branch.otherwise {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<'b> From<&'b Bindings> for At<'b> {
    fn from(bindings: &'b Bindings) -> At<'b> {
        At { bindings, found: None }
    }
}

/// A number, and how it follows from what is found.
#[derive(Clone, Copy)]
pub(super) struct Number<'i> {
    /// At the lower ends.
    value: i128,
    /// Nothing where it is the same for all.
    form: Option<(&'i Intervals, usize)>,
}

impl<'i> Number<'i> {
    /// The value at the lower ends; a law that needs it is asked at each value that may be found.
    pub fn fixed(self) -> i128 {
        if let Some((of, _)) = self.form {
            of.cut_each(self.expression().as_ref());
        }
        self.value
    }

    /// As [`Number::fixed`], as an extent.
    pub fn fixed_extent(self) -> u64 {
        u64::try_from(self.fixed().max(0)).unwrap_or(u64::MAX)
    }

    /// Whether it is between two numbers, whatever is found.
    pub fn is_within(self, low: i128, high: i128) -> bool {
        let inside = |r: Range| low <= r.0 && r.1 <= high;
        match (self.form, self.expression()) {
            (None, _) => inside((self.value, self.value)),
            (Some((of, _)), e) => e.and_then(|e| of.range(&e)).is_some_and(inside),
        }
    }

    /// A word of 32 bits that holds this number, as a number from `low` on: the number itself where it is one of those
    /// whatever is found.
    pub fn as_word(self, low: i128) -> Number<'i> {
        let (wide, word) = (1i128 << 32, self.value);
        let value = (word - low).rem_euclid(wide) + low;
        match self.form {
            Some((of, _)) if !self.is_within(low, low + wide - 1) => {
                of.cut_at(self.expression().as_ref());
                Number { value, form: None }
            }
            form => Number { value, form },
        }
    }

    fn expression(self) -> Option<DimExpr> {
        match self.form {
            Some((of, at)) => of.forms.borrow().get(at).cloned().flatten(),
            None => i64::try_from(self.value).ok().map(DimExpr::constant).filter(is_exact),
        }
    }

    fn intervals(self) -> Option<&'i Intervals> {
        self.form.map(|(of, _)| of)
    }
}

#[cfg(test)]
mod tests;
