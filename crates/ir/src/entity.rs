//! Identities: newtypes over indices, so that a node is never mistaken for a value.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;

/// A node of one graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index into the graph's list.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A value of one graph. It holds one more than its index, so that an operand which may be absent takes no more memory:
/// every node has a list of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(NonZeroU32);

impl ValueId {
    /// The value of that index in the graph's list. Graphs have fewer values than 32 bits can count.
    pub(crate) const fn new(index: usize) -> ValueId {
        ValueId(NonZeroU32::MIN.saturating_add(index as u32))
    }

    /// As an index into the graph's list.
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl fmt::Debug for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.index())
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
