//! Extents that may be symbolic, in one canonical form, so that equality of expressions is equality of values
//! wherever polynomial arithmetic can show it.
//!
//! A [`DimExpr`] is a sum of terms `coefficient · atom · atom …` plus a constant. Atoms are variables and the
//! operations that do not distribute over sums (floor and ceiling division, minimum, maximum). Arithmetic saturates
//! instead of overflowing; an evaluation that leaves 64 bits is an error. No expression grows without bound: see
//! [`DimExpr::MOST_ATOMS`].

mod arith;
mod eval;
mod order;
mod size;
mod terms;
mod text;

use crate::symbol::{ScalarId, SymbolId, Var};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use terms::Terms;

/// An indivisible factor of a term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Atom {
    /// A symbol or an integer scalar.
    Var(Var),
    /// ⌊a/b⌋ with b > 0.
    FloorDiv(Box<(DimExpr, DimExpr)>),
    /// ⌈a/b⌉ with b > 0.
    CeilDiv(Box<(DimExpr, DimExpr)>),
    /// The smaller of two.
    Min(Box<(DimExpr, DimExpr)>),
    /// The larger of two.
    Max(Box<(DimExpr, DimExpr)>),
}

/// `coefficient · Π factors`, factors sorted, coefficient not 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
struct Term {
    factors: SmallVec<[Atom; 1]>,
    coefficient: i64,
}

/// An integer expression over symbols (in shapes) or symbols and integer scalars (in frames). Clones share their terms,
/// and a constant, which most are, owns nothing: plans hold them by the hundred thousand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DimExpr {
    terms: Terms,
    constant: i64,
}

/// Why an expression has no value.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A variable has no value in the bindings.
    #[error("{0:?} is not bound")]
    Unbound(Var),
    /// The value does not fit 64 bits.
    #[error("the value does not fit in 64 bits")]
    Overflow,
    /// A divisor is zero or negative.
    #[error("division by {0}")]
    Divisor(i64),
    /// An extent came out negative.
    #[error("the extent is {0}, which is negative")]
    Negative(i64),
}

crate::debug_as_display!(EvalError);

impl DimExpr {
    /// A constant.
    pub fn constant(value: i64) -> DimExpr {
        DimExpr { terms: Terms::default(), constant: value }
    }

    /// From the parts that [`DimExpr::terms`] and [`DimExpr::constant_part`] give. `None` where they are not in
    /// canonical form: a coefficient of 0, a term without factors, factors or terms out of order, a term twice.
    pub fn from_terms(terms: Vec<(i64, Vec<Atom>)>, constant: i64) -> Option<DimExpr> {
        let sound = |(coefficient, factors): &(i64, Vec<Atom>)| {
            *coefficient != 0 && !factors.is_empty() && factors.is_sorted()
        };
        let ascend = terms.windows(2).all(|pair| pair[0].1 < pair[1].1);
        let term = |(coefficient, factors): (i64, Vec<Atom>)| Term {
            factors: factors.into_iter().collect(),
            coefficient,
        };
        (ascend && terms.iter().all(sound))
            .then(|| DimExpr { terms: terms.into_iter().map(term).collect(), constant })
    }

    /// A symbol.
    pub fn symbol(id: SymbolId) -> DimExpr {
        DimExpr::atom(Atom::Var(Var::Symbol(id)))
    }

    /// An integer scalar; in frame expressions only.
    pub fn scalar(id: ScalarId) -> DimExpr {
        DimExpr::atom(Atom::Var(Var::Scalar(id)))
    }

    fn atom(atom: Atom) -> DimExpr {
        let term = Term { factors: smallvec::smallvec![atom], coefficient: 1 };
        DimExpr { terms: Terms::from_iter([term]), constant: 0 }
    }

    /// The value, if it is one constant.
    pub fn as_const(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The value as an extent, if it is one constant that is not negative.
    pub fn as_extent(&self) -> Option<u64> {
        self.as_const().and_then(|v| u64::try_from(v).ok())
    }

    /// Whether it is exactly this constant.
    pub fn is(&self, value: i64) -> bool {
        self.as_const() == Some(value)
    }

    /// The symbol, if it is one symbol and nothing else.
    pub fn as_symbol(&self) -> Option<SymbolId> {
        match (&*self.terms, self.constant) {
            ([Term { factors, coefficient: 1 }], 0) => match factors.as_slice() {
                [Atom::Var(Var::Symbol(id))] => Some(*id),
                _ => None,
            },
            _ => None,
        }
    }

    /// Its terms as coefficient and factors, in canonical order.
    pub fn terms(&self) -> impl Iterator<Item = (i64, &[Atom])> {
        self.terms.iter().map(|t| (t.coefficient, t.factors.as_slice()))
    }

    /// What is added to the terms.
    pub fn constant_part(&self) -> i64 {
        self.constant
    }

    /// The first variable it mentions that is wanted.
    pub fn find_var(&self, mut wanted: impl FnMut(Var) -> bool) -> Option<Var> {
        self.find(&mut wanted)
    }

    fn find(&self, wanted: &mut dyn FnMut(Var) -> bool) -> Option<Var> {
        self.terms.iter().flat_map(|t| &t.factors).find_map(|factor| match factor {
            Atom::Var(v) => wanted(*v).then_some(*v),
            Atom::FloorDiv(p) | Atom::CeilDiv(p) | Atom::Min(p) | Atom::Max(p) => {
                p.0.find(wanted).or_else(|| p.1.find(wanted))
            }
        })
    }

    /// Shows every variable it mentions, with repetitions.
    pub fn visit_vars(&self, mut visit: impl FnMut(Var)) {
        self.find_var(|v| {
            visit(v);
            false
        });
    }
}

impl Atom {
    fn operands(&self) -> Option<&(DimExpr, DimExpr)> {
        match self {
            Atom::Var(_) => None,
            Atom::FloorDiv(p) | Atom::CeilDiv(p) | Atom::Min(p) | Atom::Max(p) => Some(p),
        }
    }
}

impl From<u64> for DimExpr {
    fn from(value: u64) -> DimExpr {
        DimExpr::constant(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<SymbolId> for DimExpr {
    fn from(id: SymbolId) -> DimExpr {
        DimExpr::symbol(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::Bindings;
    use crate::symbol::{Symbol, SymbolTable};

    fn two() -> (SymbolTable, DimExpr, DimExpr) {
        let mut t = SymbolTable::default();
        let a = t.push(Symbol { name: "a".into(), min: 1, max: 64, multiple_of: 1, found: false });
        let b = t.push(Symbol { name: "b".into(), min: 0, max: 256, multiple_of: 8, found: false });
        (t, a.into(), b.into())
    }

    #[test]
    fn equal_polynomials_are_equal() {
        let (_, a, b) = two();
        let lhs = (&a + &b) * (&a + &b);
        let rhs = &a * &a + DimExpr::constant(2) * &a * &b + &b * &b;
        assert_eq!(lhs, rhs);
        assert_eq!((&a - &a).as_const(), Some(0));
        assert_eq!((&a * &b).exact_quotient(&a), Some(b.clone()));
        assert_eq!((&a * 6u64).floor_div(&DimExpr::constant(3)), a * 2u64);
    }

    #[test]
    fn parts_make_the_expression_again_and_only_in_canonical_form() {
        let (_, a, b) = two();
        let e = (&a * &b + 3u64).ceil_div(&(&a + &b)) * &a + b * 2u64;
        let parts: Vec<(i64, Vec<Atom>)> = e.terms().map(|(c, f)| (c, f.to_vec())).collect();
        assert_eq!(DimExpr::from_terms(parts.clone(), e.constant_part()), Some(e));
        let mut turned = parts.clone();
        turned.reverse();
        let zero = vec![(0, parts[0].1.clone())];
        let twice = vec![parts[0].clone(), parts[0].clone()];
        for wrong in [turned, zero, twice, vec![(1, vec![])]] {
            assert_eq!(DimExpr::from_terms(wrong, 0), None);
        }
    }

    #[test]
    fn evaluates_and_bounds() {
        let (t, a, b) = two();
        let e = (&a * &b + 5u64).ceil_div(&DimExpr::constant(4));
        let mut bind = Bindings::new();
        bind.bind(SymbolId(0), 3);
        assert_eq!(e.eval(&bind), Err(EvalError::Unbound(Var::Symbol(SymbolId(1)))));
        bind.bind(SymbolId(1), 8);
        assert_eq!(e.eval(&bind), Ok(8)); // ceil(29 / 4)
        assert_eq!(e.bounds(&t), (2, 4098)); // ceil(5/4), ceil((64*256 + 5)/4)
        assert_eq!((&a * &b).divisor(&t), 8);
        assert_eq!(a.max_with(&(&a + 1u64)), a + 1u64);
        assert_eq!(b.display(&|_| "b".into()), "b");
    }
    /// What a division leaves is below the divisor, times whatever it is multiplied by.
    #[test]
    fn bounds_of_remainders() {
        let (t, a, _) = two();
        let by = |e: &DimExpr, q: i64| e.floor_div(&DimExpr::constant(q));
        let left = &a - by(&a, 8) * 8u64;
        assert_eq!(left.bounds(&t), (0, 7));
        assert_eq!((left.clone() * 3u64 + 5u64).bounds(&t), (5, 26));
        assert_eq!((by(&a, 8) * 8u64 - &a).bounds(&t), (-7, 0));
        let quarter = &a - by(&(&a * 4u64), 20) * 5u64;
        assert_eq!(quarter.bounds(&t), (0, 4));
        // Two of them, and one whose quotient is not multiplied by its divisor.
        let of_two = &left + (&a * 2u64 - by(&(&a * 2u64), 5) * 5u64);
        assert_eq!(of_two.bounds(&t), (0, 11));
        let odd = &a - by(&a, 8) * 6u64;
        for e in [left, of_two, quarter, odd] {
            let (low, high) = e.bounds(&t);
            for n in 1..=64 {
                let mut bind = Bindings::new();
                bind.bind(SymbolId(0), n);
                assert!((low..=high).contains(&e.eval(&bind).expect("bound")), "{e:?} at {n}");
            }
        }
    }
}
