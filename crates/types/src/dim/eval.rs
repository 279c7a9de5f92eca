//! What an extent is worth: its value under bindings, and bounds and divisors over all that a symbol table allows.

use super::{Atom, DimExpr, EvalError, Term};
use crate::bindings::Bindings;
use crate::symbol::{ScalarId, Symbol, SymbolTable, Var};

impl DimExpr {
    /// The value under the bindings.
    pub fn eval(&self, bindings: &Bindings) -> Result<i64, EvalError> {
        let mut sum = self.constant;
        for term in self.terms.iter() {
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

    /// Bounds over every binding the table allows: interval arithmetic, so they may be wider than the true ones. What a
    /// division by a number leaves, `a - q·⌊a/q⌋`, is known to be below q. Scalars have no bounds here and make the
    /// result unbounded (`i64::MIN..=i64::MAX`).
    pub fn bounds(&self, symbols: &SymbolTable) -> (i64, i64) {
        self.bounds_with(symbols, &|_| (i64::MIN, i64::MAX))
    }

    /// As [`DimExpr::bounds`], with the range of each scalar.
    pub fn bounds_with(&self, symbols: &SymbolTable, scalars: &dyn Fn(ScalarId) -> (i64, i64)) -> (i64, i64) {
        let mut sum = (self.constant, self.constant);
        for term in self.terms.iter() {
            let mut product = (term.coefficient, term.coefficient);
            for factor in &term.factors {
                product = interval_mul(product, factor.bounds(symbols, scalars));
            }
            sum = (sum.0.saturating_add(product.0), sum.1.saturating_add(product.1));
        }
        let Some((rest, left)) = self.without_a_quotient() else { return sum };
        let rest = rest.bounds_with(symbols, scalars);
        (sum.0.max(rest.0.saturating_add(left.min(0))), sum.1.min(rest.1.saturating_add(left.max(0))))
    }

    /// Of a sum with a term c·⌊a/q⌋, where q is a positive number that divides c·a: what it is with c·a/q instead, and
    /// how far at most it is from that, −c·(q − 1)/q.
    fn without_a_quotient(&self) -> Option<(DimExpr, i64)> {
        self.terms.iter().find_map(|term| {
            let [Atom::FloorDiv(quotient)] = term.factors.as_slice() else { return None };
            let q = quotient.1.as_const().filter(|q| *q > 0)?;
            let c = DimExpr::constant(term.coefficient);
            let exact = (&c * &quotient.0).exact_quotient(&DimExpr::constant(q))?;
            let left = term.coefficient.checked_neg()?.checked_mul(q - 1)? / q;
            Some((self.clone() - c * DimExpr::atom(term.factors[0].clone()) + exact, left))
        })
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
                    let of_symbol = |s: &Symbol| if s.min == s.max { s.min } else { s.multiple_of.max(1) };
                    d.saturating_mul(symbols.get(*id).map_or(1, of_symbol))
                }
                _ => d,
            })
        };
        let all = self.terms.iter().fold(self.constant.unsigned_abs(), |d, t| gcd(d, of_term(t)));
        all.max(1)
    }
}

impl Atom {
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

    fn bounds(&self, symbols: &SymbolTable, scalars: &dyn Fn(ScalarId) -> (i64, i64)) -> (i64, i64) {
        let of = |e: &DimExpr| e.bounds_with(symbols, scalars);
        let clamp = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
        match self {
            Atom::Var(Var::Symbol(id)) => {
                symbols.get(*id).map_or((0, i64::MAX), |s| (clamp(s.min), clamp(s.max)))
            }
            Atom::Var(Var::Scalar(id)) => scalars(*id),
            Atom::FloorDiv(p) => interval_div(of(&p.0), of(&p.1), false),
            Atom::CeilDiv(p) => interval_div(of(&p.0), of(&p.1), true),
            Atom::Min(p) => {
                let (a, b) = (of(&p.0), of(&p.1));
                (a.0.min(b.0), a.1.min(b.1))
            }
            Atom::Max(p) => {
                let (a, b) = (of(&p.0), of(&p.1));
                (a.0.max(b.0), a.1.max(b.1))
            }
        }
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
