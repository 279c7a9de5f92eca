//! What a step costs, as expressions: from these its time is predicted at a binding.
//!
//! A cost chooses no byte and no address. One that came from a file may be anything: what has no value counts as the
//! most that there is.

use pumice_types::{Bindings, Bytes, DimExpr, Precision, SymbolTable};
use serde::{Deserialize, Serialize};

/// Work of a step in symbols and scalars.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Bytes: unique ones read, plus those written.
    pub bytes: DimExpr,
    /// Arithmetic operations of matrix products (a multiply-add is two); 0 for everything else.
    pub flops: DimExpr,
    /// The arithmetic of these products, by which they have a rate.
    pub precision: Precision,
}

/// Work of a step at one binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes read plus bytes written.
    pub bytes: Bytes,
    /// Arithmetic operations of matrix products.
    pub flops: u64,
}

impl Cost {
    /// The work under the bindings.
    pub fn at(&self, bindings: &Bindings) -> Work {
        let value = |e: &DimExpr| e.eval_extent(bindings).unwrap_or(u64::MAX);
        Work { bytes: Bytes(value(&self.bytes)), flops: value(&self.flops) }
    }

    /// The most work that ranges of symbols and any scalars allow.
    pub fn upper(&self, symbols: &SymbolTable) -> Work {
        Work { bytes: Bytes(self.bytes.upper(symbols)), flops: self.flops.upper(symbols) }
    }

    /// Whether it is the same at every binding.
    pub fn is_static(&self) -> bool {
        self.bytes.as_const().is_some() && self.flops.as_const().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::{ScalarId, Symbol, SymbolId};

    fn table() -> (SymbolTable, DimExpr) {
        let mut symbols = SymbolTable::default();
        let n = symbols.push(Symbol { name: "n".into(), min: 1, max: 8, multiple_of: 1, found: false });
        (symbols, n.into())
    }

    #[test]
    fn work_follows_the_binding_and_has_an_upper_bound() {
        let (symbols, n) = table();
        let keys = DimExpr::scalar(ScalarId(0)).min_with(&DimExpr::from(64));
        let cost = Cost { bytes: &n * 4u64, flops: &n * &keys, ..Cost::default() };
        let mut bindings = Bindings::new();
        bindings.bind(SymbolId(0), 3);
        bindings.bind_scalar(ScalarId(0), 10);
        assert_eq!(cost.at(&bindings), Work { bytes: Bytes(12), flops: 30 });
        assert_eq!(cost.upper(&symbols), Work { bytes: Bytes(32), flops: 512 });
        assert!(!cost.is_static() && Cost::default().is_static());
    }

    /// A cost of a stranger's file: unbound, negative, too large.
    #[test]
    fn what_has_no_value_is_the_most() {
        let (_, n) = table();
        let huge = DimExpr::from(u64::MAX) * &DimExpr::from(u64::MAX) * &n;
        let mut bindings = Bindings::new();
        let unbound = Cost { bytes: n.clone(), flops: DimExpr::constant(-1), ..Cost::default() };
        assert_eq!(unbound.at(&bindings), Work { bytes: Bytes(u64::MAX), flops: u64::MAX });
        bindings.bind(SymbolId(0), 8);
        let large = Cost { bytes: huge, flops: n.floor_div(&DimExpr::constant(0)), ..Cost::default() };
        assert_eq!(large.at(&bindings), Work { bytes: Bytes(u64::MAX), flops: u64::MAX });
    }
}
