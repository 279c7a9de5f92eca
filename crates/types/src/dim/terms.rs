//! The terms of an expression, shared by its clones.

use super::Term;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::Arc;

/// Terms in ascending order of their factors, which differ. None of them is `None`: what is equal looks equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Terms(Option<Arc<[Term]>>);

impl Terms {
    /// These and others, in any order; terms with the same factors become one.
    pub(super) fn plus(&self, others: impl IntoIterator<Item = Term>) -> Terms {
        let mut sum: SmallVec<[Term; 4]> = self.iter().cloned().collect();
        for term in others {
            match sum.binary_search_by(|t| t.factors.cmp(&term.factors)) {
                Ok(i) => sum[i].coefficient = sum[i].coefficient.saturating_add(term.coefficient),
                Err(i) => sum.insert(i, term),
            }
        }
        sum.retain(|t| t.coefficient != 0);
        sum.into_iter().collect()
    }
}

impl FromIterator<Term> for Terms {
    /// The terms must be in order.
    fn from_iter<I: IntoIterator<Item = Term>>(terms: I) -> Terms {
        let list: SmallVec<[Term; 4]> = terms.into_iter().collect();
        Terms((!list.is_empty()).then(|| Arc::from(&*list)))
    }
}

impl Deref for Terms {
    type Target = [Term];

    fn deref(&self) -> &[Term] {
        self.0.as_deref().unwrap_or_default()
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
