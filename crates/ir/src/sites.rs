//! Where the nodes of a graph were made: for messages alone, of those too who make other graphs of it.

use crate::builder::CallSite;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Lines of the caller's source by the names of nodes, which copies of a graph share. They say nothing of what a graph
/// computes, so that all are equal.
#[derive(Clone, Default)]
pub(crate) struct Sites(Option<Arc<Made>>);

struct Made {
    nodes: Vec<(Arc<str>, CallSite)>,
    /// Of the graph that was opened.
    before: Sites,
}

impl Sites {
    /// These nodes, and those that were made before.
    pub(crate) fn and(&self, nodes: Vec<(Arc<str>, CallSite)>) -> Sites {
        if nodes.is_empty() {
            return self.clone();
        }
        Sites(Some(Arc::new(Made { nodes, before: self.clone() })))
    }

    /// Where a node of this name was made.
    pub(crate) fn find(&self, name: &str) -> Option<CallSite> {
        let mut at = self;
        while let Some(made) = &at.0 {
            let found = made.nodes.iter().find(|(n, _)| **n == *name);
            if let Some((_, site)) = found {
                return Some(site);
            }
            at = &made.before;
        }
        None
    }
}

impl fmt::Debug for Sites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sites").finish_non_exhaustive()
    }
}

impl PartialEq for Sites {
    fn eq(&self, _: &Sites) -> bool {
        true
    }
}

impl Eq for Sites {}

impl Hash for Sites {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
