//! The terms of an expression, shared by its clones.

use super::Term;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::Arc;

/// Terms in ascending order of their factors, which differ. None of them is `None`: what is equal looks equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Terms(Option<Arc<SmallVec<[Term; 1]>>>);

impl Terms {
    /// Adds a term to the one that has its factors, if there is one.
    pub(super) fn add(&mut self, term: Term) {
        if term.coefficient == 0 {
            return;
        }
        let list = Arc::make_mut(self.0.get_or_insert_default());
        match list.binary_search_by(|t| t.factors.cmp(&term.factors)) {
            Ok(i) => {
                let sum = list[i].coefficient.saturating_add(term.coefficient);
                if sum == 0 {
                    list.remove(i);
                } else {
                    list[i].coefficient = sum;
                }
            }
            Err(i) => list.insert(i, term),
        }
        if list.is_empty() {
            self.0 = None;
        }
    }
}

impl FromIterator<Term> for Terms {
    /// The terms must be in order.
    fn from_iter<I: IntoIterator<Item = Term>>(terms: I) -> Terms {
        let list: SmallVec<[Term; 1]> = terms.into_iter().collect();
        Terms((!list.is_empty()).then(|| Arc::new(list)))
    }
}

impl Deref for Terms {
    type Target = [Term];

    fn deref(&self) -> &[Term] {
        self.0.as_ref().map_or(&[], |list| list.as_slice())
    }
}

impl Serialize for Terms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Terms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Terms, D::Error> {
        Ok(Vec::<Term>::deserialize(deserializer)?.into_iter().collect())
    }
}
