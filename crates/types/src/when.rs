//! When something runs: the choices that must have been taken for it.
//!
//! A choice is an extent between 0 and 1: 1 where the first of two branches is taken, 0 where the second is. What runs
//! in a branch inside a branch names both, the outer first.

use crate::{Bindings, DimExpr, EvalError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One of the two branches of a choice.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Branch {
    /// 1 where the first branch is taken, 0 where the second is.
    pub taken: DimExpr,
    /// Whether it is the second.
    pub otherwise: bool,
}

impl Branch {
    /// 1 where this branch is taken, 0 where it is not.
    pub fn expr(&self) -> DimExpr {
        if self.otherwise { DimExpr::constant(1) - self.taken.clone() } else { self.taken.clone() }
    }

    /// The other branch of the choice.
    pub fn other(&self) -> Branch {
        Branch { taken: self.taken.clone(), otherwise: !self.otherwise }
    }
}

/// The branches that must all be taken, the outermost first; always where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct When(Option<Arc<[Branch]>>);

impl When {
    /// Whatever is taken.
    pub const ALWAYS: When = When(None);

    /// Where all of these are taken.
    pub fn all(branches: Vec<Branch>) -> When {
        When((!branches.is_empty()).then(|| branches.into()))
    }

    /// The branches, the outermost first.
    pub fn branches(&self) -> &[Branch] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether it is whatever is taken.
    pub fn is_always(&self) -> bool {
        self.0.is_none()
    }

    /// Inside this branch as well.
    pub fn and(&self, branch: Branch) -> When {
        When::all(self.branches().iter().cloned().chain([branch]).collect())
    }

    /// The branches that both begin with: where either holds, this does.
    pub fn common(&self, other: &When) -> When {
        let (a, b) = (self.branches(), other.branches());
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        if same == a.len() { self.clone() } else { When::all(a[..same].to_vec()) }
    }

    /// Whether it is inside of, or the same as, `outer`: where this holds, that does.
    pub fn is_within(&self, outer: &When) -> bool {
        self.branches().starts_with(outer.branches())
    }

    /// Whether both never hold in one run: they part at one choice.
    pub fn excludes(&self, other: &When) -> bool {
        let parts = self.branches().iter().zip(other.branches()).find(|(a, b)| a != b);
        parts.is_some_and(|(a, b)| a.taken == b.taken)
    }

    /// Where this and `other` are the two branches of one choice, what both are inside of.
    pub fn joined_with(&self, other: &When) -> Option<When> {
        let ((a, outer), (b, other)) = (self.branches().split_last()?, other.branches().split_last()?);
        (outer == other && a.taken == b.taken && a.otherwise != b.otherwise)
            .then(|| When::all(outer.to_vec()))
    }

    /// 1 where it holds, 0 where it does not: the least of its branches. A sum is the least of itself and 1, so that
    /// a product with it is not multiplied out: of n - n·c the interval begins below 0.
    pub fn expr(&self) -> DimExpr {
        let one = DimExpr::constant(1);
        let least = self.branches().iter().map(Branch::expr).reduce(|a, b| a.min_with(&b));
        match least {
            Some(least) if least.constant_part() != 0 || least.terms().count() > 1 => least.min_with(&one),
            least => least.unwrap_or(one),
        }
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// A choice without a value.
    pub fn holds(&self, bindings: &Bindings) -> Result<bool, EvalError> {
        for branch in self.branches() {
            if (branch.taken.eval(bindings)? == 0) != branch.otherwise {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SymbolId;

    fn branch(symbol: u32, otherwise: bool) -> Branch {
        Branch { taken: DimExpr::symbol(SymbolId(symbol)), otherwise }
    }

    #[test]
    fn branches_of_one_choice_exclude_and_join() {
        let outer = When::ALWAYS.and(branch(0, false));
        let (a, b) = (outer.and(branch(1, false)), outer.and(branch(1, true)));
        assert!(a.excludes(&b) && !a.excludes(&outer) && !a.excludes(&outer.and(branch(2, true))));
        assert!(When::ALWAYS.and(branch(0, true)).excludes(&a));
        assert_eq!(a.joined_with(&b), Some(outer.clone()));
        assert_eq!(a.joined_with(&outer), None);
        assert_eq!(a.common(&b), outer);
        assert_eq!(a.common(&When::ALWAYS), When::ALWAYS);
        assert!(a.is_within(&outer) && a.is_within(&When::ALWAYS) && !outer.is_within(&a));
    }

    #[test]
    fn it_holds_where_its_expression_is_one() {
        let when = When::ALWAYS.and(branch(0, false)).and(branch(1, true));
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut bindings = Bindings::new();
            bindings.bind(SymbolId(0), first);
            bindings.bind(SymbolId(1), second);
            let holds = when.holds(&bindings).expect("values");
            assert_eq!(holds, (first, second) == (1, 0));
            assert_eq!(when.expr().eval(&bindings).expect("values"), i64::from(holds));
        }
        // Where the first is not taken nothing needs a value of the second.
        let mut bindings = Bindings::new();
        bindings.bind(SymbolId(0), 0);
        assert_eq!(when.holds(&bindings), Ok(false));
    }
}
