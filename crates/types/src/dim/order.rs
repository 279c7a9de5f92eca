//! Which of two extents is the smaller one wherever they are, as far as minima, maxima and ranges show it.

use super::{Atom, DimExpr, Term};
use crate::symbol::SymbolTable;

/// Minima and maxima that are looked through, one after the other: each doubles what is looked at.
const EXTREMA: usize = 8;

impl Term {
    /// What it is the minimum of, with a minus, or the maximum.
    fn opens_below(&self) -> Option<&(DimExpr, DimExpr)> {
        match (&self.factors[..], self.coefficient < 0) {
            ([Atom::Min(pair)], true) | ([Atom::Max(pair)], false) => Some(pair),
            _ => None,
        }
    }
}

impl DimExpr {
    /// Whether it is at most `other` whatever the symbols are. False where neither ranges nor what minima and maxima
    /// are made of show it.
    pub fn is_at_most(&self, other: &DimExpr, symbols: &SymbolTable) -> bool {
        (other - self).is_not_negative(symbols, EXTREMA)
    }

    /// Whether it is 0 or more: by ranges, or because something smaller is, of so many extrema at most. d − min(a, b)
    /// is at least d − a and d − b, and d + max(a, b) at least d + a and d + b.
    fn is_not_negative(&self, symbols: &SymbolTable, extrema: usize) -> bool {
        if self.bounds(symbols).0 >= 0 {
            return true;
        }
        let Some((at, pair)) = self.terms.iter().enumerate().find_map(|(at, t)| Some((at, t.opens_below()?)))
        else {
            return false;
        };
        let others = self.terms.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, t)| t.clone());
        let rest = DimExpr { terms: others.collect(), constant: self.constant };
        let coefficient = DimExpr::constant(self.terms[at].coefficient);
        let smaller = |of: &DimExpr| &rest + &(of * &coefficient);
        extrema > 0 && [&pair.0, &pair.1].iter().any(|of| smaller(of).is_not_negative(symbols, extrema - 1))
    }

    /// Whether it is a minimum of which `other` is one: min(min(a, b), a) is min(a, b).
    pub(super) fn is_min_of(&self, other: &DimExpr) -> bool {
        matches!(self.sole_atom(), Some(Atom::Min(pair)) if any_of(pair, other, DimExpr::is_min_of))
    }

    /// Whether it is a maximum of which `other` is one.
    pub(super) fn is_max_of(&self, other: &DimExpr) -> bool {
        matches!(self.sole_atom(), Some(Atom::Max(pair)) if any_of(pair, other, DimExpr::is_max_of))
    }

    /// The atom that it is and nothing else.
    fn sole_atom(&self) -> Option<&Atom> {
        match (&*self.terms, self.constant) {
            ([Term { factors, coefficient: 1 }], 0) if factors.len() == 1 => factors.first(),
            _ => None,
        }
    }
}

fn any_of(pair: &(DimExpr, DimExpr), other: &DimExpr, is_of: fn(&DimExpr, &DimExpr) -> bool) -> bool {
    [&pair.0, &pair.1].into_iter().any(|e| e == other || is_of(e, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol::Symbol;

    fn three() -> (SymbolTable, [DimExpr; 3]) {
        let mut table = SymbolTable::default();
        let of = ["a", "b", "c"].map(|name| {
            let symbol = Symbol { name: name.into(), min: 0, max: 9, multiple_of: 1, found: true };
            DimExpr::symbol(table.push(symbol))
        });
        (table, of)
    }

    #[test]
    fn minima_and_maxima_take_in_what_they_are_of() {
        let (_, [a, b, c]) = three();
        let (least, most) = (a.min_with(&b).min_with(&c), a.max_with(&b).max_with(&c));
        for of in [&a, &b, &c, &a.min_with(&b), &least] {
            assert_eq!(least.min_with(of), least);
            assert_eq!(of.min_with(&least), least);
        }
        assert_eq!(most.max_with(&b), most);
        assert_ne!(least.max_with(&b), least);
        assert_ne!(a.min_with(&b).min_with(&c), a.min_with(&b));
    }

    #[test]
    fn order_is_seen_through_minima_and_maxima() {
        let (table, [a, b, c]) = three();
        let (least, most) = (a.min_with(&b).min_with(&c), a.max_with(&b).max_with(&c));
        for of in [&a, &b, &c] {
            assert!(least.is_at_most(of, &table) && of.is_at_most(&most, &table));
            assert!(!of.is_at_most(&least, &table) && !most.is_at_most(of, &table));
        }
        assert!(least.is_at_most(&most, &table) && a.is_at_most(&9u64.into(), &table));
        assert!(!a.is_at_most(&b, &table));
        // What a slice leaves of an extent that is found, and twice of it.
        let zero = DimExpr::constant(0);
        for rest in [&a - &least, &most - &a, &a + &b - (&least + &a.min_with(&b))] {
            assert!(zero.is_at_most(&rest, &table), "{rest:?}");
        }
        assert!(!zero.is_at_most(&(&a - &most), &table) && !zero.is_at_most(&(&least - &a), &table));
    }
}
