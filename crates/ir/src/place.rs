//! Where a part of a graph was written: for messages alone.

use crate::builder::CallSite;
use crate::text::Position;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Where the caller wrote something. It says nothing of what a graph computes, so that all places are equal, and a
/// graph that was read from its own text is the same graph.
///
/// Shown after what it is the place of: `, at src/main.rs:9:15`, or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub enum Place {
    /// Nowhere: a pass made it.
    #[default]
    Unknown,
    /// A line of the caller's source.
    Source(CallSite),
    /// A line of the graph's text.
    Text(Position),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Unknown => Ok(()),
            Place::Source(site) => write!(f, ", at {site}"),
            Place::Text(at) => write!(f, ", at line {} of the graph's text", at.line),
        }
    }
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, _: &Place) -> Ordering {
        Ordering::Equal
    }
}

impl Hash for Place {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
