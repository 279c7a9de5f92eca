//! Feeds: what happens to states after the last op of a run (OPS 2).

use crate::entity::ValueId;
use crate::place::Place;
use pumice_types::DimExpr;

/// What part of the state a feed writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FeedKind {
    /// state = output; the shapes are equal.
    Whole,
    /// state[0..len) = output[0..len) along `axis`.
    Prefix {
        /// The axis.
        axis: usize,
        /// Number of rows: symbols and integer scalars.
        len: DimExpr,
    },
    /// state[dst..dst+count) = output[src..src+count) along `axis`.
    Row {
        /// The axis.
        axis: usize,
        /// First row read.
        src: DimExpr,
        /// First row written.
        dst: DimExpr,
        /// Number of rows.
        count: DimExpr,
    },
}

impl FeedKind {
    /// The axis whose extents may differ; along all others output and state are equal.
    pub fn axis(&self) -> Option<usize> {
        match self {
            FeedKind::Whole => None,
            FeedKind::Prefix { axis, .. } | FeedKind::Row { axis, .. } => Some(*axis),
        }
    }

    /// Shows its expressions.
    pub(crate) fn visit_exprs(&self, visit: &mut dyn FnMut(&DimExpr)) {
        match self {
            FeedKind::Whole => {}
            FeedKind::Prefix { len, .. } => visit(len),
            FeedKind::Row { src, dst, count, .. } => [src, dst, count].into_iter().for_each(visit),
        }
    }

    /// Puts others in the places of its expressions.
    pub(crate) fn map_exprs(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr) {
        match self {
            FeedKind::Whole => {}
            FeedKind::Prefix { len, .. } => *len = map(len),
            FeedKind::Row { src, dst, count, .. } => {
                [src, dst, count].into_iter().for_each(|e| *e = map(e));
            }
        }
    }

    /// Whether one of its expressions passed [`DimExpr::MOST_ATOMS`].
    pub(crate) fn is_too_large(&self) -> bool {
        match self {
            FeedKind::Whole => false,
            FeedKind::Prefix { len, .. } => len.is_too_large(),
            FeedKind::Row { src, dst, count, .. } => [src, dst, count].iter().any(|e| e.is_too_large()),
        }
    }
}

/// After all ops of the run, (part of) a state becomes (part of) an output. All sources are taken before any state
/// is written, so two states may swap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Feed {
    /// Index of the output it takes.
    pub output: usize,
    /// The `State` node's value.
    pub state: ValueId,
    /// Which part.
    pub kind: FeedKind,
    /// Where it was made.
    pub place: Place,
}
