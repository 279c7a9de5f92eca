//! What passes ask about kernels, which they do not know: how much of the device a node keeps busy.
//!
//! In: extents at their upper bounds, in elements. Out: numbers of parts. Never here: an answer; the compiler gives it,
//! from what was measured.

use crate::rewrite::Facts;
use pumice_ir::{Graph, NodeId, ValueId};
use pumice_types::{AttentionExtents, ProductExtents, ReductionExtents, RowExtents};

/// Where a kernel has its hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before its sums: what makes its first operand.
    Before,
    /// After its sums: what follows its result.
    After,
}

/// A node whose kernel has a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// What a fused node around it is called.
    pub kind: &'static str,
    /// Where its hole is.
    pub side: Side,
}

/// Nodes that may become one node: an anchor, whose kernel runs, and elementwise nodes that its hole takes in.
#[derive(Clone, Copy)]
pub struct Group<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// What is known of it.
    pub facts: &'a Facts,
    /// The node whose kernel runs.
    pub anchor: NodeId,
    /// All nodes, in graph order, the anchor among them.
    pub nodes: &'a [NodeId],
}

/// What kernels cost and what they take in. Who knows the kernels implements it.
pub trait CostModel {
    /// Which of these numbers of parts k is best cut into, given that the parts are added where they are read
    /// (`merged`) or by a step of its own. `parts` ascend and begin with 1, which is the answer where cutting does not
    /// pay.
    fn product_parts(&self, product: &ProductExtents, parts: &[u64], merged: bool) -> u64;

    /// Into about how many parts a reduction is best cut; 1 where cutting does not pay.
    fn reduction_parts(&self, reduction: &ReductionExtents) -> u64;

    /// The same where there may be fewer elements than these, and what is left by parts takes a step more.
    fn varying_reduction_parts(&self, longest: &ReductionExtents) -> u64;

    /// Into at least how many parts a reduction must be cut, since no kernel takes it in one; 1 where one does. Half as
    /// many are enough.
    fn least_reduction_parts(&self, reduction: &ReductionExtents) -> u64;

    /// Whether a reduction to so many results of so many elements each, over axes with others between them, is faster
    /// as several, each over neighbouring axes.
    fn reduces_apart(&self, outputs: u64, reduced: u64) -> bool;

    /// Into how many parts the keys of an attention are best split; 1 where one step is better.
    fn attention_parts(&self, attention: &AttentionExtents) -> u64;

    /// Whether the gradients of an attention by keys and values that query heads share are faster for each query head.
    fn by_keys_for_each_head(&self, attention: &AttentionExtents) -> bool;

    /// Whether a kernel takes such rows in one step.
    fn row_in_one(&self, row: &RowExtents) -> bool;

    /// Whether reductions, cut into parts, and elementwise steps make such rows faster than a step that takes whole
    /// rows.
    fn rows_apart(&self, row: &RowExtents) -> bool;

    /// The anchor that a node is; none where its kernel takes no nodes in.
    fn anchor(&self, graph: &Graph, id: NodeId) -> Option<Anchor>;

    /// Whether the hole of a group's anchor could hold one node more.
    fn takes(&self, group: &Group<'_>, id: NodeId) -> bool;

    /// Whether a group is what lowering makes one step of.
    fn accepts(&self, group: &Group<'_>) -> bool;

    /// How many values a hole could read, and add, in place of a value that it reads; none where no hole before an
    /// anchor reads it.
    fn addends(&self, graph: &Graph, facts: &Facts, v: ValueId) -> Option<usize>;
}

/// Cuts nothing, and no kernel takes nodes in.
pub struct NoCostModel;

impl CostModel for NoCostModel {
    fn product_parts(&self, _: &ProductExtents, _: &[u64], _: bool) -> u64 {
        1
    }

    fn reduction_parts(&self, _: &ReductionExtents) -> u64 {
        1
    }

    fn varying_reduction_parts(&self, _: &ReductionExtents) -> u64 {
        1
    }

    fn least_reduction_parts(&self, _: &ReductionExtents) -> u64 {
        1
    }

    fn reduces_apart(&self, _: u64, _: u64) -> bool {
        false
    }

    fn attention_parts(&self, _: &AttentionExtents) -> u64 {
        1
    }

    fn by_keys_for_each_head(&self, _: &AttentionExtents) -> bool {
        false
    }

    fn row_in_one(&self, _: &RowExtents) -> bool {
        true
    }

    fn rows_apart(&self, _: &RowExtents) -> bool {
        false
    }

    fn anchor(&self, _: &Graph, _: NodeId) -> Option<Anchor> {
        None
    }

    fn takes(&self, _: &Group<'_>, _: NodeId) -> bool {
        false
    }

    fn accepts(&self, _: &Group<'_>) -> bool {
        false
    }

    fn addends(&self, _: &Graph, _: &Facts, _: ValueId) -> Option<usize> {
        None
    }
}
