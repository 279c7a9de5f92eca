//! Which conditions a graph has, so that each is noted once and what follows from one is found without looking at all.
//!
//! In: constraints as inference finds them. Out: the graph's list, in the order of finding. Never here: what makes a
//! constraint.

use crate::graph::{Constraint, Relation};
use indexmap::IndexSet;
use pumice_types::DimExpr;

/// The constraints of a graph, and two sets over them: whether one more follows is found without looking at all.
#[derive(Default)]
pub struct Conditions {
    /// What must stand to what, whoever found it first: each layer of a model finds the same.
    known: IndexSet<(DimExpr, Relation, DimExpr)>,
    /// Differences that must be 0.
    zero: IndexSet<DimExpr>,
    /// Differences that must not be negative.
    not_negative: IndexSet<DimExpr>,
}

impl Conditions {
    /// Those of a list.
    pub fn of(list: &[Constraint]) -> Conditions {
        let mut conditions = Conditions::default();
        list.iter().for_each(|c| _ = conditions.insert(c));
        conditions
    }

    /// Appends to `list`, which these are about, what is new of `found`.
    pub(crate) fn append(&mut self, list: &mut Vec<Constraint>, found: impl IntoIterator<Item = Constraint>) {
        list.extend(found.into_iter().filter(|c| self.insert(c)));
    }

    /// Whether a condition holds wherever these do, by [`Constraint::implies`] of one of them.
    pub fn imply(&self, other: &Constraint) -> bool {
        let difference = other.difference();
        let at_most = other.relation == Relation::AtMost && self.not_negative.contains(&difference);
        at_most
            || self.zero.contains(&difference)
            || self.zero.contains(&(difference * DimExpr::constant(-1)))
    }

    fn insert(&mut self, c: &Constraint) -> bool {
        if !self.known.insert((c.left.clone(), c.relation, c.right.clone())) {
            return false;
        }
        let differences =
            if c.relation == Relation::AtMost { &mut self.not_negative } else { &mut self.zero };
        differences.insert(c.difference());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use pumice_types::SymbolId;

    /// The second node that finds a condition adds nothing; a graph keeps the name of the first.
    #[test]
    fn a_condition_is_noted_once() {
        let s = |i: u32| DimExpr::symbol(SymbolId(i));
        let found = |what: &str, relation| Constraint {
            left: s(0),
            relation,
            right: s(1),
            what: what.into(),
            place: Place::Unknown,
            of_method: false,
        };
        let mut list = Vec::new();
        let mut conditions = Conditions::default();
        let all = [("a", Relation::Equal), ("b", Relation::Equal), ("c", Relation::AtMost)];
        conditions.append(&mut list, all.map(|(what, relation)| found(what, relation)));
        assert_eq!(list.iter().map(|c| &*c.what).collect::<Vec<_>>(), ["a", "c"]);
    }

    /// Sets and pairs of constraints give one answer.
    #[test]
    fn what_follows_is_what_one_of_them_implies() {
        let s = |i: u32| DimExpr::symbol(SymbolId(i));
        let sums = [s(0), s(1), s(0) + s(1), s(1) + DimExpr::constant(1)];
        let relations = [Relation::Equal, Relation::Broadcast, Relation::AtMost];
        let mut all = Vec::new();
        for left in &sums {
            for right in &sums {
                all.extend(relations.map(|relation| {
                    let (left, right) = (left.clone(), right.clone());
                    Constraint {
                        left,
                        relation,
                        right,
                        what: "".into(),
                        place: Place::Unknown,
                        of_method: false,
                    }
                }));
            }
        }
        for first in &all {
            for second in &all {
                let given = [first.clone(), second.clone()];
                let conditions = Conditions::of(&given);
                for other in &all {
                    let implied = given.iter().any(|c| c.implies(other));
                    assert_eq!(conditions.imply(other), implied, "{given:?} and {other:?}");
                }
            }
        }
    }
}
