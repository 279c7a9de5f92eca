//! Arithmetic on extents, in canonical form: every result is a sum of terms, or an atom where that cannot be.

use super::terms::Terms;
use super::{Atom, DimExpr, Term};
use crate::symbol::{SymbolTable, Var};
use std::ops::{Add, Mul, Sub};

impl DimExpr {
    /// ⌊self/by⌋. Exact where every coefficient divides; constants fold; otherwise an atom.
    pub fn floor_div(&self, by: &DimExpr) -> DimExpr {
        self.divide(by, i64::div_euclid, Atom::FloorDiv)
    }

    /// ⌈self/by⌉. Exact where every coefficient divides; constants fold; otherwise an atom.
    pub fn ceil_div(&self, by: &DimExpr) -> DimExpr {
        self.divide(by, |a, b| -(-a).div_euclid(b), Atom::CeilDiv)
    }

    fn divide(
        &self,
        by: &DimExpr,
        fold: fn(i64, i64) -> i64,
        atom: fn(Box<(DimExpr, DimExpr)>) -> Atom,
    ) -> DimExpr {
        if let Some(too_large) = self.either_too_large(by) {
            return too_large;
        }
        if self == by && by.as_const() != Some(0) {
            return DimExpr::constant(1);
        }
        if let Some(exact) = self.exact_quotient(by) {
            return exact;
        }
        match (self.as_const(), by.as_const()) {
            (_, Some(1)) => self.clone(),
            (Some(a), Some(b)) if b > 0 && a > i64::MIN => DimExpr::constant(fold(a, b)),
            _ => DimExpr::operation(self, by, atom),
        }
    }

    /// self/by where the division leaves no remainder for any binding, as far as term-wise division shows it.
    pub fn exact_quotient(&self, by: &DimExpr) -> Option<DimExpr> {
        if self.either_too_large(by).is_some() {
            return None;
        }
        let (divisor, factors): (i64, &[Atom]) = match (&*by.terms, by.constant) {
            ([], c) if c > 0 => (c, &[]),
            ([term], 0) if term.coefficient > 0 => (term.coefficient, &term.factors),
            _ => return None,
        };
        if !factors.is_empty() && self.constant != 0 || self.constant % divisor != 0 {
            return None;
        }
        let (mut constant, mut terms) = (self.constant / divisor, Vec::new());
        for term in self.terms.iter() {
            if term.coefficient % divisor != 0 {
                return None;
            }
            let mut rest = term.factors.clone();
            for factor in factors {
                rest.remove(rest.iter().position(|f| f == factor)?);
            }
            let coefficient = term.coefficient / divisor;
            if rest.is_empty() {
                constant = constant.saturating_add(coefficient);
            } else {
                terms.push(Term { factors: rest, coefficient });
            }
        }
        Some(DimExpr { terms: Terms::default().plus(terms), constant })
    }

    /// The smaller of the two.
    pub fn min_with(&self, other: &DimExpr) -> DimExpr {
        self.extremum(other, |a, b| a.min(b), Atom::Min, [DimExpr::is_min_of, DimExpr::is_max_of])
    }

    /// The larger of the two.
    pub fn max_with(&self, other: &DimExpr) -> DimExpr {
        self.extremum(other, |a, b| a.max(b), Atom::Max, [DimExpr::is_max_of, DimExpr::is_min_of])
    }

    fn extremum(
        &self,
        other: &DimExpr,
        fold: fn(i64, i64) -> i64,
        atom: fn(Box<(DimExpr, DimExpr)>) -> Atom,
        [is_of, is_opposite]: [fn(&DimExpr, &DimExpr) -> bool; 2],
    ) -> DimExpr {
        if let Some(too_large) = self.either_too_large(other) {
            return too_large;
        }
        // min(a, max(a, b)) is a, as max(a, min(a, b)) is.
        if self == other || is_of(self, other) || is_opposite(other, self) {
            return self.clone();
        }
        if is_of(other, self) || is_opposite(self, other) {
            return other.clone();
        }
        if let Some(d) = (self - other).as_const() {
            // The two differ by a constant, so one of them is the extremum everywhere.
            return if fold(d, 0) == d { self.clone() } else { other.clone() };
        }
        let pair = if self <= other { (self, other) } else { (other, self) };
        DimExpr::operation(pair.0, pair.1, atom)
    }

    /// The same value for all that the symbols may be, without the minima and maxima that their ranges decide.
    pub fn within(&self, symbols: &SymbolTable) -> DimExpr {
        let decided = |a: DimExpr, b: DimExpr, larger: bool| {
            let (low, high) = (&a - &b).bounds(symbols);
            match larger {
                true if low >= 0 => a,
                true if high <= 0 => b,
                true => a.max_with(&b),
                false if low >= 0 => b,
                false if high <= 0 => a,
                false => a.min_with(&b),
            }
        };
        let mut result = DimExpr::constant(self.constant);
        for term in self.terms.iter() {
            let mut product = DimExpr::constant(term.coefficient);
            for factor in &term.factors {
                let value = match factor {
                    Atom::Var(v) => DimExpr::atom(Atom::Var(*v)),
                    Atom::FloorDiv(p) => p.0.within(symbols).floor_div(&p.1.within(symbols)),
                    Atom::CeilDiv(p) => p.0.within(symbols).ceil_div(&p.1.within(symbols)),
                    Atom::Min(p) => decided(p.0.within(symbols), p.1.within(symbols), false),
                    Atom::Max(p) => decided(p.0.within(symbols), p.1.within(symbols), true),
                };
                product = product * value;
            }
            result = result + product;
        }
        result
    }

    /// The expression with every variable replaced; `None` from the closure keeps the variable.
    pub fn substitute(&self, replace: &dyn Fn(Var) -> Option<DimExpr>) -> DimExpr {
        let mut result = DimExpr::constant(self.constant);
        for term in self.terms.iter() {
            let mut product = DimExpr::constant(term.coefficient);
            for factor in &term.factors {
                let value = match factor {
                    Atom::Var(v) => replace(*v).unwrap_or_else(|| DimExpr::atom(Atom::Var(*v))),
                    Atom::FloorDiv(p) => p.0.substitute(replace).floor_div(&p.1.substitute(replace)),
                    Atom::CeilDiv(p) => p.0.substitute(replace).ceil_div(&p.1.substitute(replace)),
                    Atom::Min(p) => p.0.substitute(replace).min_with(&p.1.substitute(replace)),
                    Atom::Max(p) => p.0.substitute(replace).max_with(&p.1.substitute(replace)),
                };
                product = product * value;
            }
            result = result + product;
        }
        result
    }
}

impl DimExpr {
    /// This and so many times another.
    fn plus_times(mut self, other: &DimExpr, times: i64) -> DimExpr {
        if self.is(0) && times == 1 {
            return other.clone();
        }
        if let Some(too_large) = self.either_too_large(other) {
            return too_large;
        }
        self.constant = self.constant.saturating_add(other.constant.saturating_mul(times));
        if !other.terms.is_empty() {
            self.terms = self.terms.plus(other.terms.iter().map(|term| term.times(times)));
        }
        self.limited()
    }

    fn product(&self, other: &DimExpr) -> DimExpr {
        if self.is(1) {
            return other.clone();
        }
        if let Some(too_large) = self.either_too_large(other) {
            return too_large;
        }
        if DimExpr::product_atoms([self, other]) > DimExpr::MOST_ATOMS {
            return DimExpr::too_large();
        }
        let mut product = DimExpr::constant(0).plus_times(self, other.constant);
        let with_all = |b| {
            let products = self.terms.iter().map(move |a: &Term| a.product(b));
            std::iter::once(b.times(self.constant)).chain(products)
        };
        product.terms = product.terms.plus(other.terms.iter().flat_map(with_all));
        product
    }
}

impl Term {
    fn times(&self, times: i64) -> Term {
        Term { factors: self.factors.clone(), coefficient: self.coefficient.saturating_mul(times) }
    }

    fn product(&self, other: &Term) -> Term {
        let mut product = self.times(other.coefficient);
        product.factors.extend(other.factors.iter().cloned());
        product.factors.sort();
        product
    }
}

/// One operation for operands that are given away and operands that are lent; numbers are constants.
macro_rules! operation {
    ($trait:ident, $method:ident, $apply:expr) => {
        impl $trait<&DimExpr> for DimExpr {
            type Output = DimExpr;
            fn $method(self, other: &DimExpr) -> DimExpr {
                $apply(self, other)
            }
        }

        impl $trait for DimExpr {
            type Output = DimExpr;
            fn $method(self, other: DimExpr) -> DimExpr {
                $apply(self, &other)
            }
        }

        impl $trait<u64> for DimExpr {
            type Output = DimExpr;
            fn $method(self, other: u64) -> DimExpr {
                $apply(self, &other.into())
            }
        }

        impl $trait<&DimExpr> for &DimExpr {
            type Output = DimExpr;
            fn $method(self, other: &DimExpr) -> DimExpr {
                $apply(self.clone(), other)
            }
        }

        impl $trait<DimExpr> for &DimExpr {
            type Output = DimExpr;
            fn $method(self, other: DimExpr) -> DimExpr {
                $apply(self.clone(), &other)
            }
        }

        impl $trait<u64> for &DimExpr {
            type Output = DimExpr;
            fn $method(self, other: u64) -> DimExpr {
                $apply(self.clone(), &other.into())
            }
        }
    };
}

operation!(Add, add, |a: DimExpr, b: &DimExpr| a.plus_times(b, 1));
operation!(Sub, sub, |a: DimExpr, b: &DimExpr| a.plus_times(b, -1));
operation!(Mul, mul, |a: DimExpr, b: &DimExpr| a.product(b));
