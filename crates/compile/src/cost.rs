//! Costs of steps as expressions of extents.
//!
//! Products of sums have as many terms as both have together; beyond [`TERMS`] a product is its upper bound, so that no
//! graph makes its costs large.

use pumice_types::{DimExpr, SymbolTable};

/// Terms of a cost.
const TERMS: usize = 32;

/// The product of extents.
pub fn product<'e>(factors: impl IntoIterator<Item = &'e DimExpr>, symbols: &SymbolTable) -> DimExpr {
    factors.into_iter().fold(DimExpr::constant(1), |all, factor| {
        if summands(&all).saturating_mul(summands(factor)) <= TERMS {
            return all * factor;
        }
        DimExpr::from(all.upper(symbols).saturating_mul(factor.upper(symbols)))
    })
}

/// The sum of two costs.
pub fn sum(a: &DimExpr, b: &DimExpr, symbols: &SymbolTable) -> DimExpr {
    if summands(a).saturating_add(summands(b)) <= TERMS {
        return a + b;
    }
    DimExpr::from(a.upper(symbols).saturating_add(b.upper(symbols)))
}

/// Terms, and what is added to them.
fn summands(e: &DimExpr) -> usize {
    e.terms().count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::{Symbol, SymbolId};

    /// A product of sums doubles its terms with every factor: twenty of them would be a million.
    #[test]
    fn costs_stay_small() {
        let mut symbols = SymbolTable::default();
        let sums: Vec<DimExpr> = (0..20)
            .map(|i| {
                let symbol = Symbol { name: format!("n{i}"), min: 1, max: 2, multiple_of: 1, found: false };
                let id: SymbolId = symbols.push(symbol);
                DimExpr::symbol(id) + 1u64
            })
            .collect();
        let cost = product(&sums, &symbols);
        assert!(summands(&cost) <= TERMS);
        assert_eq!(cost.upper(&symbols), 3u64.pow(20));
        assert_eq!(product(&sums[..2], &symbols), &sums[0] * &sums[1]);
        assert!(summands(&sums.iter().fold(cost, |all, e| sum(&all, e, &symbols))) <= TERMS);
    }
}
