//! How large an expression may grow. Extents come from strangers' files, and repeated squaring of a sum makes terms
//! without end, so each operation is charged before it is done.
//!
//! What passes the limit becomes ⌊0/0⌋: an expression that has no value for any binding. Every operation on it gives it
//! again, its bounds are everything, and whoever takes an expression for an extent refuses it.

use super::{Atom, DimExpr};

impl DimExpr {
    /// The most variables and operations of one expression. Extents of models have a few; 1,024 are 100 KB at most,
    /// nest no deeper than that, and two such expressions are added in less than a millisecond.
    pub const MOST_ATOMS: usize = 1024;

    /// Variables and operations in it, repetitions and operands of operations included.
    pub fn atoms(&self) -> usize {
        let of_atom = |atom: &Atom| 1 + atom.operands().map_or(0, |(a, b)| a.atoms() + b.atoms());
        self.terms.iter().flat_map(|term| &term.factors).map(of_atom).sum()
    }

    /// Whether an operation that led to it passed [`DimExpr::MOST_ATOMS`]; so does 0 divided by 0.
    pub fn is_too_large(&self) -> bool {
        let [term] = &*self.terms else { return false };
        let [Atom::FloorDiv(pair)] = term.factors.as_slice() else { return false };
        pair.0.is(0) && pair.1.is(0)
    }

    /// At most as many atoms as the product of the factors has before like terms meet.
    pub fn product_atoms<'a>(factors: impl IntoIterator<Item = &'a DimExpr>) -> usize {
        let one = (1usize, 0usize);
        let (_, atoms) = factors.into_iter().fold(one, |(terms, atoms), factor| {
            let own_terms = factor.terms.len() + usize::from(factor.constant != 0);
            let of_first = atoms.saturating_mul(own_terms);
            let of_second = factor.atoms().saturating_mul(terms);
            (terms.saturating_mul(own_terms), of_first.saturating_add(of_second))
        });
        atoms
    }

    pub(super) fn too_large() -> DimExpr {
        DimExpr::atom(Atom::FloorDiv(Box::default()))
    }

    /// Itself, if it is within the limit.
    pub(super) fn limited(self) -> DimExpr {
        // Two atoms are the least that an operation adds to.
        if self.terms.len() > 1 && self.atoms() > DimExpr::MOST_ATOMS { DimExpr::too_large() } else { self }
    }

    /// An operation on two operands that does not distribute over sums, if it is within the limit.
    pub(super) fn operation(a: &DimExpr, b: &DimExpr, atom: fn(Box<(DimExpr, DimExpr)>) -> Atom) -> DimExpr {
        if a.atoms() + b.atoms() >= DimExpr::MOST_ATOMS {
            return DimExpr::too_large();
        }
        DimExpr::atom(atom(Box::new((a.clone(), b.clone()))))
    }

    /// The expression that both operands leave no choice but: one of them is too large.
    pub(super) fn either_too_large(&self, other: &DimExpr) -> Option<DimExpr> {
        (self.is_too_large() || other.is_too_large()).then(DimExpr::too_large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol::{Symbol, SymbolTable};
    use crate::{Bindings, SymbolId};

    fn symbols() -> (SymbolTable, DimExpr) {
        let mut table = SymbolTable::default();
        let s = table.push(Symbol { name: "s".into(), min: 1, max: 64, multiple_of: 1, found: false });
        (table, s.into())
    }

    /// Ten different minima: what squaring them makes has no like terms.
    fn sum_of_minima(s: &DimExpr) -> DimExpr {
        (2u64..12).map(|n| s.min_with(&n.into())).fold(DimExpr::constant(1), |sum, m| sum + m)
    }

    /// A text of 2,099 bytes whose extents were multiplied with themselves took 3.9 GB.
    #[test]
    fn repeated_squaring_ends_at_the_limit() {
        let (table, s) = symbols();
        let mut e = sum_of_minima(&s);
        for _ in 0..100 {
            e = &e * &e;
            assert!(e.atoms() <= DimExpr::MOST_ATOMS);
        }
        assert!(e.is_too_large());
        let mut bound = Bindings::new();
        bound.bind(SymbolId(0), 3);
        assert!(e.eval(&bound).is_err());
        assert_eq!(e.bounds(&table), (i64::MIN, i64::MAX));
    }

    #[test]
    fn sums_and_nesting_end_at_the_limit() {
        let (_, s) = symbols();
        let long = (0u64..3000).fold(s.clone(), |sum, n| sum + s.min_with(&n.into()));
        assert!(long.is_too_large());
        type Nest = fn(&DimExpr, &DimExpr) -> DimExpr;
        let nests: [Nest; 3] = [
            |e, s| (e + s).floor_div(&7u64.into()),
            |e, s| (e * 2u64).min_with(&(s * 3u64)),
            |e, s| e.max_with(s) * 5u64 + 1u64,
        ];
        for nest in nests {
            let deep = (0..3000).fold(s.clone(), |e, _| nest(&e, &s));
            assert!(deep.is_too_large());
            let once = nest(&s, &s);
            assert!(!once.is_too_large() && once.atoms() <= 4, "{once}");
        }
    }

    #[test]
    fn nothing_leads_back_from_what_is_too_large() {
        let (table, s) = symbols();
        let e = DimExpr::too_large();
        let results = [
            &e + &s,
            &s - &e,
            &e - &e,
            &e * &s,
            &s * &e,
            &e * DimExpr::constant(0),
            e.floor_div(&s),
            s.ceil_div(&e),
            e.floor_div(&e),
            e.min_with(&s),
            s.max_with(&e),
            e.max_with(&e),
            e.within(&table),
            e.substitute(&|_| Some(DimExpr::constant(1))),
        ];
        for (i, result) in results.iter().enumerate() {
            assert!(result.is_too_large(), "{i}: {result}");
        }
        assert_eq!(e.exact_quotient(&e), None);
        assert_eq!(s.substitute(&|_| Some(DimExpr::too_large())), e);
    }

    #[test]
    fn what_models_have_is_far_from_the_limit() {
        let (_, s) = symbols();
        // A hundred convolutions of stride 2 and 3 taps, one after the other.
        let extent = (0..100).fold(s.clone(), |e, _| (e + 2u64).floor_div(&2u64.into()));
        assert!(!extent.is_too_large());
        let product = DimExpr::product_atoms([&extent, &extent, &s, &64u64.into()]);
        assert!(product <= DimExpr::MOST_ATOMS, "{product}");
        assert_eq!(DimExpr::product_atoms([&s, &DimExpr::constant(7)]), 1);
        assert_eq!(DimExpr::product_atoms([&(&s + 1u64), &(&s + 2u64)]), 4);
    }
}
