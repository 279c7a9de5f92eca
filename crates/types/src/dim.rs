//! Extents that may be symbolic, in one canonical form, so that equality of expressions is equality of values
//! wherever polynomial arithmetic can show it.
//!
//! A [`DimExpr`] is a sum of terms `coefficient · atom · atom …` plus a constant. Atoms are variables and the
//! operations that do not distribute over sums (floor and ceiling division, minimum, maximum). Arithmetic saturates
//! instead of overflowing; an evaluation that leaves 64 bits is an error.

use crate::bindings::Bindings;
use crate::symbol::{ScalarId, SymbolId, SymbolTable, Var};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;
use std::ops::{Add, Mul, Sub};

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

/// An integer expression over symbols (in shapes) or symbols and integer scalars (in frames).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DimExpr {
    terms: SmallVec<[Term; 1]>,
    constant: i64,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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

impl DimExpr {
    /// A constant.
    pub fn constant(value: i64) -> DimExpr {
        DimExpr { terms: SmallVec::new(), constant: value }
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
        DimExpr { terms: smallvec::smallvec![term], constant: 0 }
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
        match (self.terms.as_slice(), self.constant) {
            ([Term { factors, coefficient: 1 }], 0) => match factors.as_slice() {
                [Atom::Var(Var::Symbol(id))] => Some(*id),
                _ => None,
            },
            _ => None,
        }
    }

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
        if self == by && by.as_const() != Some(0) {
            return DimExpr::constant(1);
        }
        if let Some(exact) = self.exact_quotient(by) {
            return exact;
        }
        match (self.as_const(), by.as_const()) {
            (_, Some(1)) => self.clone(),
            (Some(a), Some(b)) if b > 0 && a > i64::MIN => DimExpr::constant(fold(a, b)),
            _ => DimExpr::atom(atom(Box::new((self.clone(), by.clone())))),
        }
    }

    /// self/by where the division leaves no remainder for any binding, as far as term-wise division shows it.
    pub fn exact_quotient(&self, by: &DimExpr) -> Option<DimExpr> {
        let (divisor, factors): (i64, &[Atom]) = match (by.terms.as_slice(), by.constant) {
            ([], c) if c > 0 => (c, &[]),
            ([term], 0) if term.coefficient > 0 => (term.coefficient, &term.factors),
            _ => return None,
        };
        if !factors.is_empty() && self.constant != 0 || self.constant % divisor != 0 {
            return None;
        }
        let mut result = DimExpr::constant(self.constant / divisor);
        for term in &self.terms {
            if term.coefficient % divisor != 0 {
                return None;
            }
            let mut rest = term.factors.clone();
            for factor in factors {
                rest.remove(rest.iter().position(|f| f == factor)?);
            }
            let coefficient = term.coefficient / divisor;
            if rest.is_empty() {
                result.constant = result.constant.saturating_add(coefficient);
            } else {
                result.add_term(Term { factors: rest, coefficient });
            }
        }
        Some(result)
    }

    /// The smaller of the two.
    pub fn min_with(&self, other: &DimExpr) -> DimExpr {
        self.extremum(other, |a, b| a.min(b), Atom::Min)
    }

    /// The larger of the two.
    pub fn max_with(&self, other: &DimExpr) -> DimExpr {
        self.extremum(other, |a, b| a.max(b), Atom::Max)
    }

    fn extremum(
        &self,
        other: &DimExpr,
        fold: fn(i64, i64) -> i64,
        atom: fn(Box<(DimExpr, DimExpr)>) -> Atom,
    ) -> DimExpr {
        if self == other {
            return self.clone();
        }
        if let Some(d) = (self.clone() - other.clone()).as_const() {
            // The two differ by a constant, so one of them is the extremum everywhere.
            return if fold(d, 0) == d { self.clone() } else { other.clone() };
        }
        let pair = if self <= other { (self, other) } else { (other, self) };
        DimExpr::atom(atom(Box::new((pair.0.clone(), pair.1.clone()))))
    }

    fn add_term(&mut self, term: Term) {
        match self.terms.binary_search_by(|t| t.factors.cmp(&term.factors)) {
            Ok(i) => {
                let sum = self.terms[i].coefficient.saturating_add(term.coefficient);
                if sum == 0 {
                    self.terms.remove(i);
                } else {
                    self.terms[i].coefficient = sum;
                }
            }
            Err(i) if term.coefficient != 0 => self.terms.insert(i, term),
            Err(_) => {}
        }
    }

    /// The value under the bindings.
    pub fn eval(&self, bindings: &Bindings) -> Result<i64, EvalError> {
        let mut sum = self.constant;
        for term in &self.terms {
            let mut product = term.coefficient;
            for factor in &term.factors {
                product = product.checked_mul(factor.eval(bindings)?).ok_or(EvalError::Overflow)?;
            }
            sum = sum.checked_add(product).ok_or(EvalError::Overflow)?;
        }
        Ok(sum)
    }

    /// The value under the bindings as an extent; negative values are errors.
    pub fn eval_extent(&self, bindings: &Bindings) -> Result<u64, EvalError> {
        let value = self.eval(bindings)?;
        u64::try_from(value).map_err(|_| EvalError::Negative(value))
    }

    /// Bounds over every binding the table allows: interval arithmetic, so they may be wider than the true ones.
    /// Scalars have no bounds here and make the result unbounded (`i64::MIN..=i64::MAX`).
    pub fn bounds(&self, symbols: &SymbolTable) -> (i64, i64) {
        let mut sum = (self.constant, self.constant);
        for term in &self.terms {
            let mut product = (term.coefficient, term.coefficient);
            for factor in &term.factors {
                product = interval_mul(product, factor.bounds(symbols));
            }
            sum = (sum.0.saturating_add(product.0), sum.1.saturating_add(product.1));
        }
        sum
    }

    /// The largest value as an extent, by which slots are sized; 0 where even the upper bound is negative.
    pub fn upper(&self, symbols: &SymbolTable) -> u64 {
        u64::try_from(self.bounds(symbols).1).unwrap_or(0)
    }

    /// The smallest value as an extent; never below 0.
    pub fn lower(&self, symbols: &SymbolTable) -> u64 {
        u64::try_from(self.bounds(symbols).0).unwrap_or(0)
    }

    /// A number that divides every value of the expression: `multiple_of` promises of symbols are used.
    pub fn divisor(&self, symbols: &SymbolTable) -> u64 {
        let of_term = |term: &Term| {
            term.factors.iter().fold(term.coefficient.unsigned_abs(), |d, f| match f {
                Atom::Var(Var::Symbol(id)) => {
                    // A symbol of one value is that number.
                    let of_symbol =
                        |s: &crate::symbol::Symbol| if s.min == s.max { s.min } else { s.multiple_of.max(1) };
                    d.saturating_mul(symbols.get(*id).map_or(1, of_symbol))
                }
                _ => d,
            })
        };
        let all = self.terms.iter().fold(self.constant.unsigned_abs(), |d, t| gcd(d, of_term(t)));
        all.max(1)
    }

    /// Its terms as coefficient and factors, in canonical order.
    pub fn terms(&self) -> impl Iterator<Item = (i64, &[Atom])> {
        self.terms.iter().map(|t| (t.coefficient, t.factors.as_slice()))
    }

    /// What is added to the terms.
    pub fn constant_part(&self) -> i64 {
        self.constant
    }

    /// Every variable it mentions, with repetitions.
    pub fn vars(&self) -> Vec<Var> {
        let mut vars = Vec::new();
        self.visit_vars(&mut |v| vars.push(v));
        vars
    }

    fn visit_vars(&self, visit: &mut dyn FnMut(Var)) {
        for factor in self.terms.iter().flat_map(|t| &t.factors) {
            match factor.operands() {
                None => {
                    if let Atom::Var(v) = factor {
                        visit(*v);
                    }
                }
                Some((a, b)) => {
                    a.visit_vars(visit);
                    b.visit_vars(visit);
                }
            }
        }
    }

    /// The expression with every variable replaced; `None` from the closure keeps the variable.
    pub fn substitute(&self, replace: &dyn Fn(Var) -> Option<DimExpr>) -> DimExpr {
        let mut result = DimExpr::constant(self.constant);
        for term in &self.terms {
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

    /// Writes the expression with the variables' names; the form that `.ir` text reads back.
    pub fn write(&self, out: &mut dyn fmt::Write, name: &dyn Fn(Var) -> String) -> fmt::Result {
        let mut first = true;
        for term in &self.terms {
            let coefficient = term.coefficient;
            match (first, coefficient < 0) {
                (true, true) => out.write_str("-")?,
                (false, true) => out.write_str(" - ")?,
                (false, false) => out.write_str(" + ")?,
                (true, false) => {}
            }
            first = false;
            let magnitude = coefficient.unsigned_abs();
            if magnitude != 1 {
                write!(out, "{magnitude}*")?;
            }
            for (i, factor) in term.factors.iter().enumerate() {
                if i > 0 {
                    out.write_str("*")?;
                }
                factor.write(out, name)?;
            }
        }
        match (first, self.constant) {
            (true, c) => write!(out, "{c}"),
            (false, 0) => Ok(()),
            (false, c) if c < 0 => write!(out, " - {}", c.unsigned_abs()),
            (false, c) => write!(out, " + {c}"),
        }
    }

    /// The expression as text, with the variables' names.
    pub fn display(&self, name: &dyn Fn(Var) -> String) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text, name);
        text
    }
}

impl Atom {
    fn operands(&self) -> Option<&(DimExpr, DimExpr)> {
        match self {
            Atom::Var(_) => None,
            Atom::FloorDiv(p) | Atom::CeilDiv(p) | Atom::Min(p) | Atom::Max(p) => Some(p),
        }
    }

    fn eval(&self, bindings: &Bindings) -> Result<i64, EvalError> {
        let divide = |p: &(DimExpr, DimExpr), ceil: bool| {
            let (a, b) = (p.0.eval(bindings)?, p.1.eval(bindings)?);
            if b <= 0 {
                return Err(EvalError::Divisor(b));
            }
            let floor = a.div_euclid(b);
            Ok(if ceil && a.rem_euclid(b) != 0 { floor + 1 } else { floor })
        };
        match self {
            Atom::Var(v) => bindings.get(*v).ok_or(EvalError::Unbound(*v)),
            Atom::FloorDiv(p) => divide(p, false),
            Atom::CeilDiv(p) => divide(p, true),
            Atom::Min(p) => Ok(p.0.eval(bindings)?.min(p.1.eval(bindings)?)),
            Atom::Max(p) => Ok(p.0.eval(bindings)?.max(p.1.eval(bindings)?)),
        }
    }

    fn bounds(&self, symbols: &SymbolTable) -> (i64, i64) {
        let clamp = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
        match self {
            Atom::Var(Var::Symbol(id)) => {
                symbols.get(*id).map_or((0, i64::MAX), |s| (clamp(s.min), clamp(s.max)))
            }
            Atom::Var(Var::Scalar(_)) => (i64::MIN, i64::MAX),
            Atom::FloorDiv(p) => interval_div(p.0.bounds(symbols), p.1.bounds(symbols), false),
            Atom::CeilDiv(p) => interval_div(p.0.bounds(symbols), p.1.bounds(symbols), true),
            Atom::Min(p) => {
                let (a, b) = (p.0.bounds(symbols), p.1.bounds(symbols));
                (a.0.min(b.0), a.1.min(b.1))
            }
            Atom::Max(p) => {
                let (a, b) = (p.0.bounds(symbols), p.1.bounds(symbols));
                (a.0.max(b.0), a.1.max(b.1))
            }
        }
    }

    fn write(&self, out: &mut dyn fmt::Write, name: &dyn Fn(Var) -> String) -> fmt::Result {
        let call = match self {
            Atom::Var(v) => return out.write_str(&name(*v)),
            Atom::FloorDiv(_) => "floordiv",
            Atom::CeilDiv(_) => "ceildiv",
            Atom::Min(_) => "min",
            Atom::Max(_) => "max",
        };
        let (a, b) = self.operands().expect("every atom but Var has operands");
        write!(out, "{call}(")?;
        a.write(out, name)?;
        out.write_str(", ")?;
        b.write(out, name)?;
        out.write_str(")")
    }
}

fn interval_mul(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    let products =
        [a.0.saturating_mul(b.0), a.0.saturating_mul(b.1), a.1.saturating_mul(b.0), a.1.saturating_mul(b.1)];
    (products.into_iter().min().unwrap_or(0), products.into_iter().max().unwrap_or(0))
}

fn interval_div(a: (i64, i64), b: (i64, i64), ceil: bool) -> (i64, i64) {
    if b.0 <= 0 {
        return (i64::MIN, i64::MAX);
    }
    let div = |x: i64, y: i64| {
        let q = x.div_euclid(y);
        if ceil && x.rem_euclid(y) != 0 { q.saturating_add(1) } else { q }
    };
    let quotients = [div(a.0, b.0), div(a.0, b.1), div(a.1, b.0), div(a.1, b.1)];
    (quotients.into_iter().min().unwrap_or(0), quotients.into_iter().max().unwrap_or(0))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Add for DimExpr {
    type Output = DimExpr;
    fn add(mut self, other: DimExpr) -> DimExpr {
        self.constant = self.constant.saturating_add(other.constant);
        other.terms.into_iter().for_each(|t| self.add_term(t));
        self
    }
}

impl Sub for DimExpr {
    type Output = DimExpr;
    fn sub(self, other: DimExpr) -> DimExpr {
        self + other * DimExpr::constant(-1)
    }
}

impl Mul for DimExpr {
    type Output = DimExpr;
    fn mul(self, other: DimExpr) -> DimExpr {
        let mut product = DimExpr::constant(self.constant.saturating_mul(other.constant));
        let scaled = |terms: &[Term], by: i64| {
            terms
                .iter()
                .map(|t| Term { factors: t.factors.clone(), coefficient: t.coefficient.saturating_mul(by) })
                .collect::<Vec<_>>()
        };
        scaled(&self.terms, other.constant).into_iter().for_each(|t| product.add_term(t));
        scaled(&other.terms, self.constant).into_iter().for_each(|t| product.add_term(t));
        for a in &self.terms {
            for b in &other.terms {
                let mut factors = a.factors.clone();
                factors.extend(b.factors.iter().cloned());
                factors.sort();
                let coefficient = a.coefficient.saturating_mul(b.coefficient);
                product.add_term(Term { factors, coefficient });
            }
        }
        product
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

impl fmt::Display for DimExpr {
    /// With variables as `s0`, `d0`; use [`DimExpr::display`] for their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|v| match v {
            Var::Symbol(SymbolId(i)) => format!("s{i}"),
            Var::Scalar(ScalarId(i)) => format!("d{i}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol::Symbol;

    fn two() -> (SymbolTable, DimExpr, DimExpr) {
        let mut t = SymbolTable::default();
        let a = t.push(Symbol { name: "a".into(), min: 1, max: 64, multiple_of: 1 });
        let b = t.push(Symbol { name: "b".into(), min: 0, max: 256, multiple_of: 8 });
        (t, a.into(), b.into())
    }

    #[test]
    fn equal_polynomials_are_equal() {
        let (_, a, b) = two();
        let lhs = (a.clone() + b.clone()) * (a.clone() + b.clone());
        let rhs =
            a.clone() * a.clone() + DimExpr::constant(2) * a.clone() * b.clone() + b.clone() * b.clone();
        assert_eq!(lhs, rhs);
        assert_eq!((a.clone() - a.clone()).as_const(), Some(0));
        assert_eq!((a.clone() * b.clone()).exact_quotient(&a), Some(b.clone()));
        assert_eq!((a.clone() * DimExpr::constant(6)).floor_div(&DimExpr::constant(3)), a * 2u64.into());
    }

    #[test]
    fn evaluates_and_bounds() {
        let (t, a, b) = two();
        let e = (a.clone() * b.clone() + 5u64.into()).ceil_div(&DimExpr::constant(4));
        let mut bind = Bindings::new();
        bind.bind(SymbolId(0), 3);
        assert_eq!(e.eval(&bind), Err(EvalError::Unbound(Var::Symbol(SymbolId(1)))));
        bind.bind(SymbolId(1), 8);
        assert_eq!(e.eval(&bind), Ok(8)); // ceil(29 / 4)
        assert_eq!(e.bounds(&t), (2, 4098)); // ceil(5/4), ceil((64*256 + 5)/4)
        assert_eq!((a.clone() * b.clone()).divisor(&t), 8);
        assert_eq!(a.max_with(&(a.clone() + 1u64.into())), a + 1u64.into());
        assert_eq!(b.display(&|_| "b".into()), "b");
    }
}
